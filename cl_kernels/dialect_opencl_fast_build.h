/* What BRIEF, PLAIN and WIDE of dialect_opencl.h become on PoCL, where a work-group has one work-item. PoCL 3.0 builds
   `begin_tree` in 0.03 s instead of 0.05 s. */
#define COMPILE_FAST __attribute__((optnone, noinline))
#define PLAIN_LOOP _Pragma("clang loop unroll(disable) vectorize(disable) interleave(disable)")
#define WIDE_LOOP _Pragma("clang loop vectorize_width(16)")
/* A function that device/opencl/source.py makes of a kernel's statements. It must not be static: the compiler would
   then put the addresses of local arrays into it, and PoCL would give all threads the same array. */
#define SINGLE_COPY __attribute__((noinline)) void
/* device/opencl/build_ahead.py launches a kernel with two work-groups in z, only to have it compiled. */
#define IF_AHEAD_RETURN if (get_num_groups(2) == 2) return;
