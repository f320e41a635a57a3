"""Call AMD's run-time compiler: run by a Python that can load ``libamd_comgr``.

``python comgr_child.py CHIP OPTION...`` takes names of files with OpenCL C from the standard input,
one a line, and prints a line of JSON for each: the log, whether it compiled, seconds of the
processor. The steps are those of the OpenCL driver of ROCm.
"""

import ctypes
import json
import sys
import time
from pathlib import Path
from typing import Any

#: Of amd_comgr.h, version 3: kinds of data, the language, and actions.
SOURCE, LOG = 1, 5
OPENCL_1_2 = 1
STEPS = {"compile": 12, "link bitcode": 3, "generate code": 4, "link": 7}
Handle = ctypes.c_uint64


class Comgr:
    """The library, whose functions raise what they would return."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libamd_comgr.so.3")

    def call(self, name: str, *args: Any) -> None:
        status = getattr(self.library, f"amd_comgr_{name}")(*args)
        if status:
            raise RuntimeError(f"amd_comgr_{name} returned {status}")

    def new(self, name: str, *args: Any) -> Any:
        handle = Handle()
        self.call(name, *args, ctypes.byref(handle))
        return handle

    def log_of(self, results: Any) -> str:
        """Return the log in a set of data."""
        count, size = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("action_data_count", results, LOG, ctypes.byref(count))
        if not count.value:
            return ""
        log = self.new("action_data_get_data", results, LOG, ctypes.c_size_t(0))
        self.call("get_data", log, ctypes.byref(size), None)
        text = ctypes.create_string_buffer(size.value)
        self.call("get_data", log, ctypes.byref(size), text)
        self.call("release_data", log)
        return text.raw.decode("utf-8", "replace")

    def compile(self, source: bytes, chip: str, options: "list[str]") -> "tuple[bool, str]":
        """Compile a source to an executable; return whether that worked, and the logs."""
        data, given = self.new("create_data", SOURCE), self.new("create_data_set")
        self.call("set_data", data, ctypes.c_size_t(len(source)), source)
        self.call("set_data_name", data, b"k.cl")
        self.call("data_set_add", given, data)
        self.call("release_data", data)
        info = self.new("create_action_info")
        self.call("action_info_set_isa_name", info, f"amdgcn-amd-amdhsa--{chip}".encode())
        self.call("action_info_set_language", info, OPENCL_1_2)
        words = (ctypes.c_char_p * len(options))(*(word.encode() for word in options))
        self.call("action_info_set_option_list", info, words, ctypes.c_size_t(len(options)))
        self.call("action_info_set_logging", info, True)
        logs, good = "", True
        for step, action in STEPS.items():
            results = self.new("create_data_set")
            try:
                self.call("do_action", action, info, given, results)
            except RuntimeError as error:
                good, logs = False, f"{logs}{step}: {error}\n"
            logs += self.log_of(results)
            self.call("destroy_data_set", given)
            given = results
            if not good:
                break
        self.call("destroy_data_set", given)
        self.call("destroy_action_info", info)
        return good, logs


def main(chip: str, options: "list[str]") -> None:
    comgr = Comgr()
    for line in sys.stdin:
        start = time.process_time()
        good, log = comgr.compile(Path(line.strip()).read_bytes(), chip, options)
        answer = {"good": good, "log": log, "seconds": time.process_time() - start}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
