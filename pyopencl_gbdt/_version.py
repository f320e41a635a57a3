"""The version of the package, and where pip and people find it."""

__version__ = "0.1.0"

#: What pip installs the package from, and where that works. No index has the package yet; once one
#: does, this line becomes ``"pyopencl_gbdt", ""``, and ``python docs/tables.py`` tells the pages.
PIP_SOURCE, PIP_WHERE = ".", "in a clone; else name the wheel's file instead of the dot"

#: Address of the repository, for messages that ask to open an issue; empty until it has one.
PROJECT_URL = ""
