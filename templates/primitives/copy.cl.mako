## copy: out = values, 16 bytes at a time; benchmarks measure the device's bandwidth with it
##
## params: wg_size
<%page args="wg_size"/>
KERNEL(${wg_size}) copy(
    GLOBAL const u32x4* RESTRICT values, const u32 n, const u32 chunk,
    GLOBAL u32x4* RESTRICT out) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    for (u32 i = LOCAL_ID; i < count; i += ${wg_size}) out[begin + i] = values[begin + i];
}
