/* The types and macros that kernels use, for OpenCL C 1.2.
   dialect_cuda.h defines the same names; tests/device/test_dialects.py compares the two sets. */
#pragma OPENCL FP_CONTRACT OFF

typedef uchar u8;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#define f64 double /* not a type of every device: kernels that use it are built for those that have it */
typedef uint4 u32x4; /* 16 bytes in one load; .x .y .z .w */
typedef long2 i64x2; /* sums of gradients and Hessians */
#define MAKE_I64X2(x, y) ((long2)((x), (y)))
#define ADD_I64X2(a, b) ((a) + (b))
#define SUB_I64X2(a, b) ((a) - (b))
typedef int2 i32x2;
#define MAKE_I32X2(x, y) ((int2)((x), (y)))
#define MAKE_U32X4(x, y, z, w) ((uint4)((x), (y), (z), (w)))

#define GROUPS_OF_A_UNIT 1 /* only CUDA's compilers heed it, see dialect_cuda.h */
#define KERNEL(wg_size) __kernel __attribute__((reqd_work_group_size(wg_size, 1, 1))) void
#ifdef INLINED /* see device/opencl/source.py */
#define FN static inline INLINED
#else
#define FN static inline
#endif
/* BRIEF stands before a kernel that takes microseconds: building it fast matters more than running it fast.
   PLAIN stands before a loop that gains nothing from vectors or copies of its body, which take long to build.
   WIDE stands before a loop over floats that a compiler would make vectors of 4 of, because it also adds up 64 bits.
   dialect_opencl_fast_build.h says what that means to a compiler; to others it means nothing.
   IN_ORDER stands before a loop that adds floats. If work-groups have fewer than 16 work-items, Intel's CPU runtime
   (driver 2026.22) vectorises such a loop and adds in another order, which the standard does not allow. Compilers
   that do not know the pragma ignore it. */
#define IN_ORDER _Pragma("clang loop vectorize(disable) interleave(disable)")
#ifdef COMPILE_FAST
#define BRIEF COMPILE_FAST
#define PLAIN PLAIN_LOOP
#define WIDE WIDE_LOOP
#else
#define BRIEF
#define PLAIN
#define WIDE
#endif
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARRAY(type, name, size) __local type name[size]
/* An array that begins at a place which is a multiple of 128 bytes. */
#define LOCAL_LINES(type, name, size) __local type name[size] __attribute__((aligned(128)))
#define LOCAL_LARGE(type, name, size) LOCAL_LINES(type, name, size)
#define RESTRICT restrict

#define LOCAL_ID ((u32)get_local_id(0))
#define GROUP_ID ((u32)get_group_id(0))
#define GROUP_ID_Y ((u32)get_group_id(1))
#define N_GROUPS ((u32)get_num_groups(0))
#define N_GROUPS_Y ((u32)get_num_groups(1))
#define GLOBAL_ID ((u64)get_group_id(0) * get_local_size(0) + get_local_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

/* Tell the processor that an address will be read soon. Only for PoCL and Intel's CPU runtime, see
   `Capabilities.prefetches`: their compilers are based on Clang, which has this builtin, while Mesa's translator
   to SPIR-V refuses it. PoCL's own `prefetch` does nothing. */
#define PREFETCH(address) __builtin_prefetch((const void*)(size_t)(address))
/* The same long before, and into the second cache alone, for which more requests are under way at a time. EPYC 9004,
   one thread, ns a row of 32 bytes: a 32nd of 32 MB 8.3 by PREFETCH, 3.4 so. Arrays that caches hold gain nothing. */
#define PREFETCH_FAR(address) __builtin_prefetch((const void*)(size_t)(address), 0, 2)

/* Read and write words that other work-groups access at the same time. A word is read and written as a
   whole; different words may become visible in any order. */
#define READ_SHARED_U64(address) (*(volatile __global const ulong*)(address))
#define WRITE_SHARED_U64(address, value) (*(volatile __global ulong*)(address) = (value))
/* Of this work-item's accesses to global memory, those before it are seen before those behind it. PoCL's own
   fence does nothing, and its compiler moves accesses across it. */
#if defined(__x86_64__) || defined(__aarch64__)
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#elif defined(__NV_CL_C_VERSION) || defined(__NVPTX__) /* their own fence may order for a work-group alone */
#define FENCE() asm volatile("membar.gl;" : : : "memory")
#else
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

/* Operations of a warp, 32 work-items of NVIDIA's devices; all 32 must execute them. WARP_BALLOT collects a
   bit from each. WARP_MATCH gives each the set of those with the same u32. WARP_SYNC orders accesses to local
   memory. */
#define WARP_BALLOT(result, predicate) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }" \
                 : "=r"(result) : "r"(predicate))
#define WARP_MATCH(result, value) \
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value))
#define WARP_SYNC() asm volatile("bar.warp.sync 0xffffffff;" : : : "memory")
/* A value of a work-item that stays in a register, where a compiler would compute it in every turn of a loop. */
#define KEPT(value) (value)
#define POPCOUNT(x) ((u32)popcount((u32)(x)))

/* The k-th byte of a u32, from the lowest. BYTE_TIMES: times a factor below 256, and more; for NVIDIA's since Volta. */
#ifdef __NV_CL_C_VERSION /* its compiler shifts and masks; H100, histograms of 11 M x 28: 1.53 and 1.44 ms a round */
FN u32 permuted_bytes(const u32 word, const u32 selector) {
    u32 result;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(result) : "r"(word), "r"(selector));
    return result;
}
FN u32 dot_of_bytes(const u32 word, const u32 factors, const u32 more) {
    u32 result;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(word), "r"(factors), "r"(more));
    return result;
}
#define BYTE_OF(word, k) permuted_bytes((word), 0x4440 + (k))
#define BYTE_TIMES(word, k, times, more) dot_of_bytes((word), (u32)(times) << 8 * (k), (more))
#else
#define BYTE_OF(word, k) ((word) >> 8 * (k) & 255)
#define BYTE_TIMES(word, k, times, more) (BYTE_OF(word, k) * (times) + (more))
#endif

#define as_f32(x) as_float(x)
#define as_f64(x) as_double(x)
#define as_u32(x) as_uint(x)

/* Each returns the value before the addition. */
#define atomic_add_local_i32(address, value) atomic_add((volatile __local int*)(address), (int)(value))
#define atomic_add_local_u32(address, value) atomic_add((volatile __local uint*)(address), (uint)(value))
#define atomic_add_global_i32(address, value) atomic_add((volatile __global int*)(address), (int)(value))
#define atomic_add_global_u32(address, value) atomic_add((volatile __global uint*)(address), (uint)(value))
#define atomic_max_global_u32(address, value) atomic_max((volatile __global uint*)(address), (uint)(value))
/* The same by a place in local memory: LOCAL_START(array), and LOCAL_STEP for each i32. `behind` is added to
   the place, and constant. */
#ifdef __NV_CL_C_VERSION /* its compiler adds up 64-bit addresses; the same histograms: 1.44 and 1.39 ms a round */
FN u32 local_start(__local const i32* array) {
    u64 start;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(start) : "l"((u64)array));
    return (u32)start;
}
FN i32 add_at(const u32 place, const i32 value) {
    i32 old;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(place), "r"(value) : "memory");
    return old;
}
#define LOCAL_START(array) local_start(array)
#define LOCAL_STEP 4
#define atomic_add_local_at(array, place, behind, value) add_at((place) + (behind), (value))
#else
#define LOCAL_START(array) 0
#define LOCAL_STEP 1
#define atomic_add_local_at(array, place, behind, value) atomic_add_local_i32(&(array)[(place) + (behind)], value)
#endif
/* Without 64-bit atomics, a sum's words are added to one after the other, the upper one with what the lower one
   carries. The sum is right once all have added; nobody reads it before the kernel ends. */
#ifdef SUMS_BY_WORDS
FN void atomic_add_global_i64(__global long* address, const long value) {
    const u32 low = (u32)value;
    const u32 sum = atomic_add_global_u32(address, low) + low;
    const i32 high = (i32)(value >> 32) + (sum < low ? 1 : 0);
    if (high) atomic_add_global_i32((__global int*)address + 1, high);
}
#else
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#define atomic_add_global_i64(address, value) atom_add((volatile __global long*)(address), (long)(value))
#endif
