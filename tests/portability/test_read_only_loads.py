"""Reads through NVIDIA's cache of read-only data of what the kernel stores."""

from tests.portability.read_only_loads import stale_reads

#: ``written[i] = given[j]; other[i] = chosen ? given[k] : written[i]``, as NVRTC compiles it if
#: ``%rd8`` is chosen from two addresses.
PTX = """
.visible .entry choose(
\t.param .u64 choose_param_0,
\t.param .u64 choose_param_1
)
.maxntid 32, 1, 1
{
\tld.param.u64 \t%rd1, [choose_param_0];
\tld.param.u64 \t%rd2, [choose_param_1];
\tcvta.to.global.u64 \t%rd3, %rd1;
\tcvta.to.global.u64 \t%rd4, %rd2;
\tadd.s64 \t%rd5, %rd3, 4;
\tld.global.nc.u32 \t%r1, [%rd5];
\tadd.s64 \t%rd6, %rd4, 8;
\tst.global.u32 \t[%rd6+12], %r1;
\tadd.s64 \t%rd7, %rd3, 8;
\tselp.b64 \t%rd8, %rd7, CHOSEN, %p1;
\tld.global.nc.u32 \t%r2, [%rd8];
\tret;
}
"""


def test_a_read_at_a_chosen_address_is_found():
    assert stale_reads(PTX.replace("CHOSEN", "%rd6")) == [("choose", "choose_param_1")]


def test_arrays_that_are_only_read_are_no_fault():
    assert stale_reads(PTX.replace("CHOSEN", "%rd5")) == []


def test_an_ordinary_read_of_what_is_stored_is_no_fault():
    text = PTX.replace("CHOSEN", "%rd6").replace("ld.global.nc.u32 \t%r2", "ld.global.u32 \t%r2")
    assert stale_reads(text) == []
