/* Declarations of the built-in functions that dialect_opencl.h uses, as in Clang's opencl-c.h; types and
   constants need none. Put before the dialect when that header, of 17,000 declarations, is skipped. */
#define BUILTIN __attribute__((overloadable))
size_t BUILTIN __attribute__((const)) get_local_id(uint);
size_t BUILTIN __attribute__((const)) get_local_size(uint);
size_t BUILTIN __attribute__((const)) get_group_id(uint);
size_t BUILTIN __attribute__((const)) get_num_groups(uint);
void BUILTIN __attribute__((convergent)) barrier(uint);
void BUILTIN mem_fence(uint);
uint BUILTIN __attribute__((const)) popcount(uint);
int BUILTIN atomic_add(volatile __global int*, int);
uint BUILTIN atomic_add(volatile __global uint*, uint);
int BUILTIN atomic_add(volatile __local int*, int);
uint BUILTIN atomic_add(volatile __local uint*, uint);
uint BUILTIN atomic_max(volatile __global uint*, uint);
#ifdef cl_khr_int64_base_atomics
long BUILTIN atom_add(volatile __global long*, long);
#endif
