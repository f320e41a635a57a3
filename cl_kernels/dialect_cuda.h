/* The types and macros that kernels use, for CUDA C (NVRTC, with -fmad=false).
   dialect_opencl.h defines the same names; tests/device/test_dialects.py compares the two sets. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
#define f64 double /* not a type of every device: kernels that use it are built for those that have it */
typedef uint4 u32x4; /* 16 bytes in one load; .x .y .z .w */
typedef longlong2 i64x2; /* sums of gradients and Hessians */
#define MAKE_I64X2(x, y) make_longlong2((x), (y))
#define ADD_I64X2(a, b) make_longlong2((a).x + (b).x, (a).y + (b).y)
#define SUB_I64X2(a, b) make_longlong2((a).x - (b).x, (a).y - (b).y)
typedef int2 i32x2;
#define MAKE_I32X2(x, y) make_int2((x), (y))
#define MAKE_U32X4(x, y, z, w) make_uint4((x), (y), (z), (w))

/* Work-groups that a multiprocessor is to run at a time: the compiler limits registers so. A kernel that
   gains from several defines it anew before KERNEL. */
#define GROUPS_OF_A_UNIT 1
#define KERNEL(wg_size) extern "C" __global__ __launch_bounds__(wg_size, GROUPS_OF_A_UNIT) void
#define FN static __device__ __forceinline__
#define BRIEF
#define IN_ORDER
#define PLAIN
#define WIDE
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY(type, name, size) __shared__ type name[size]
#define LOCAL_LINES(type, name, size) __shared__ __align__(128) type name[size]
/* The same of more than 48 KiB; a kernel has one, and its program's `large_local` tells the size. */
#define LOCAL_LARGE(type, name, size) extern __shared__ __align__(128) type name[]
#define RESTRICT __restrict__

#define LOCAL_ID ((u32)threadIdx.x)
#define GROUP_ID ((u32)blockIdx.x)
#define GROUP_ID_Y ((u32)blockIdx.y)
#define N_GROUPS ((u32)gridDim.x)
#define N_GROUPS_Y ((u32)gridDim.y)
#define GLOBAL_ID ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define BARRIER() __syncthreads()

#define PREFETCH(address) ((void)(address))
#define PREFETCH_FAR(address) PREFETCH(address)

/* Read and write words that other work-groups access at the same time. A word is read and written as a
   whole; different words may become visible in any order. */
#define READ_SHARED_U64(address) (*(volatile const u64*)(address))
#define WRITE_SHARED_U64(address, value) (*(volatile u64*)(address) = (value))
/* Of this work-item's accesses to global memory, those before it are seen before those behind it. */
#define FENCE() __threadfence()

/* Operations of a warp, 32 work-items of NVIDIA's devices; all 32 must execute them. WARP_BALLOT collects a
   bit from each. WARP_MATCH gives each the set of those with the same u32. WARP_SYNC orders accesses to local
   memory. */
#define WARP_BALLOT(result, predicate) ((result) = __ballot_sync(0xffffffffu, (predicate)))
#define WARP_MATCH(result, value) ((result) = __match_any_sync(0xffffffffu, (u32)(value)))
#define WARP_SYNC() __syncwarp()
/* A value of a work-item that stays in a register: the compiler cannot tell how to compute it again, which it
   else does in every turn of a loop. All work-items of a warp must execute it. */
#define KEPT(value) __shfl_sync(0xffffffffu, (value), threadIdx.x & 31)
#define POPCOUNT(x) ((u32)__popc((u32)(x)))

/* The k-th byte of a u32, from the lowest. BYTE_TIMES: times a factor below 256, and more; for NVIDIA's since Volta. */
#define BYTE_OF(word, k) __byte_perm((word), 0, 0x4440 + (k))
#define BYTE_TIMES(word, k, times, more) __dp4a((word), (u32)(times) << 8 * (k), (more))

#define as_f32(x) __uint_as_float((u32)(x))
#define as_f64(x) __longlong_as_double((i64)(x))
#define as_u32(x) __float_as_uint(x)

/* Each returns the value before the addition. */
#define atomic_add_local_i32(address, value) atomicAdd((int*)(address), (int)(value))
#define atomic_add_local_u32(address, value) atomicAdd((u32*)(address), (u32)(value))
#define atomic_add_global_i32(address, value) atomicAdd((int*)(address), (int)(value))
#define atomic_add_global_u32(address, value) atomicAdd((u32*)(address), (u32)(value))
#define atomic_max_global_u32(address, value) atomicMax((u32*)(address), (u32)(value))
/* The same by a place in local memory: LOCAL_START(array), and LOCAL_STEP for each i32. `behind` is added to
   the place, and constant. */
#define LOCAL_START(array) ((u32)__cvta_generic_to_shared(array))
#define LOCAL_STEP 4
template <u32 behind> FN i32 add_at(const u32 place, const i32 value) {
    i32 old;
    asm volatile("atom.shared.add.u32 %0, [%1+%3], %2;"
                 : "=r"(old) : "r"(place), "r"(value), "n"(behind) : "memory");
    return old;
}
#define atomic_add_local_at(array, place, behind, value) add_at<(behind)>((place), (value))
#define atomic_add_global_i64(address, value) \
    ((i64)atomicAdd((unsigned long long*)(address), (unsigned long long)(value)))
