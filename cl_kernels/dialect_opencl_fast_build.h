/* What BRIEF and PLAIN of dialect_opencl.h become on PoCL, where a work-group has one work-item. PoCL 3.0 builds
   `decide` in 0.11 s instead of 0.25 s. */
#define COMPILE_FAST __attribute__((optnone, noinline))
#define PLAIN_LOOP _Pragma("clang loop unroll(disable) vectorize(disable) interleave(disable)")
