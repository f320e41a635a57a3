/* last_group: which work-group of a launch is the last one to finish. See pyopencl_gbdt/device/last_group.py.

   group 0   writes | barrier, fence | arrived 0 -> 1
   group 2   writes | barrier, fence | arrived 1 -> 2
   group 1   writes | barrier, fence | arrived 2 -> 0, the last one: it sees what all groups have written

   One work-item's fence is enough: barriers order it behind the writes, and before the reads, of its group. */

/* Whether this group is the last one of its launch; all work-items get the same answer. `arrived` is 0 between launches. */
FN u32 is_last_group(GLOBAL u32* arrived, LOCAL u32* answer) {
    BARRIER();
    if (LOCAL_ID == 0) {
        FENCE();
        answer[0] = atomic_add_global_u32(arrived, 1u) + 1 == N_GROUPS * N_GROUPS_Y;
        if (answer[0]) arrived[0] = 0;
        FENCE();
    }
    BARRIER();
    return answer[0];
}
