





FN u32 sum_u32(const u32 value, LOCAL u32* shared) {
    const u32 id = LOCAL_ID;
    shared[id] = value;
    BARRIER();
    for (u32 half_size = 128; half_size > 0; half_size /= 2) {
        if (id < half_size) shared[id] += shared[id + half_size];
        BARRIER();
    }
    const u32 total = shared[0];
    BARRIER();
    return total;
}




FN void scan_u32_of_one(const u32 value0, LOCAL u32* shared, u32* before0, u32* total0) {
    const u32 id = LOCAL_ID;
    shared[0 + id] = value0;
    BARRIER();
    if (id < 16) {
        u32 sum = 0;
        for (u32 i = id * 16; i < (id + 1) * 16; i++) {
            sum += shared[i];
            shared[i] = sum;
        }
    }
    BARRIER();
    {
        u32 before = 0, all = 0;
        for (u32 run_end = 15; run_end < 256; run_end += 16) {
            const u32 sum = shared[0 + run_end];
            if (run_end < id - id % 16) before += sum;
            all += sum;
        }
        *before0 = before + shared[0 + id] - value0;
        *total0 = all;
    }
    BARRIER();
}

FN u32 scan_u32(const u32 value, LOCAL u32* shared, u32* total) {
    u32 before;
    scan_u32_of_one(value, shared, &before, total);
    return before;
}


/* A word with 1 in every byte that is not 0 in `word`. */
FN u32 set_bytes(const u32 word) {
    return ((((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) >> 7) & 0x01010101u;
}
FN u32 sum_of_bytes(const u32 bytes) { return (bytes * 0x01010101u) >> 24; }


KERNEL(256) compact_counts(
    GLOBAL const u8* RESTRICT flags, const u32 n, const u32 chunk, GLOBAL u32* RESTRICT counts) {
    LOCAL_ARRAY(u32, shared, 256);
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 mine = 0, done = 0;
    GLOBAL const u32x4* words = (GLOBAL const u32x4*)(flags + begin);
    for (u32 i = LOCAL_ID; i < count / 16; i += 256) {
        const u32x4 w = words[i];
        mine += sum_of_bytes(
            set_bytes(w.x) + set_bytes(w.y) + set_bytes(w.z) + set_bytes(w.w));
    }
    done = count / 16 * 16;
    for (u32 i = done + LOCAL_ID; i < count; i += 256) mine += flags[begin + i] != 0;
    const u32 total = sum_u32(mine, shared);
    if (LOCAL_ID == 0) counts[GROUP_ID] = total;
}


/* Replace counts by their exclusive scan. One work-group; each work-item scans a share. */
KERNEL(256) compact_offsets(GLOBAL u32* counts, const u32 n_counts, GLOBAL u32* total) {
    LOCAL_ARRAY(u32, shared, 256);
    const u32 share = (n_counts + 255) / 256;
    const u32 begin = LOCAL_ID * share < n_counts ? LOCAL_ID * share : n_counts;
    const u32 end = n_counts - begin < share ? n_counts : begin + share;
    u32 sum = 0, all;
    for (u32 i = begin; i < end; ++i) sum += counts[i];
    u32 before = scan_u32(sum, shared, &all);
    for (u32 i = begin; i < end; ++i) {
        const u32 count = counts[i];
        counts[i] = before;
        before += count;
    }
    if (LOCAL_ID == 0) total[0] = all;
}


FN u32 flag_mask(GLOBAL const u8* flags, const u32 mine, const u32 count) {
    u32 mask = 0;
    if (mine < count && count - mine >= 8) {
        GLOBAL const u32* words = (GLOBAL const u32*)(flags + mine);
        mask |= ((set_bytes(words[0]) * 0x01020408u) >> 24) << 0;
        mask |= ((set_bytes(words[1]) * 0x01020408u) >> 24) << 4;
        return mask;
    }
    for (u32 k = 0; k < 8; ++k)
        if (mine + k < count) mask |= (u32)(flags[mine + k] != 0) << k;
    return mask;
}


FN u32 stage(const u32 mask, LOCAL u16* positions, LOCAL u32* shared) {
    const u32 mine = LOCAL_ID * 8;
    u32 n = 0, total;
    for (u32 k = 0; k < 8; ++k) n += (mask >> k) & 1u;
    u32 to = scan_u32(n, shared, &total);
    for (u32 k = 0; k < 8; ++k)
        if ((mask >> k) & 1u) positions[to++] = (u16)(mine + k);
    BARRIER();
    return total;
}


KERNEL(256) compact_move(
    GLOBAL const u32* RESTRICT values, GLOBAL const u8* RESTRICT flags, const u32 n,
    const u32 chunk, GLOBAL const u32* RESTRICT offsets, GLOBAL u32* RESTRICT out) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 place = offsets[GROUP_ID];

    LOCAL_ARRAY(u16, kept, 2048);
    LOCAL_ARRAY(u32, shared, 256);
    for (u32 first = 0; first < count; first += 2048) {
        const u32 mask = flag_mask(flags + begin, first + LOCAL_ID * 8, count);
        const u32 n_kept = stage(mask, kept, shared);
        for (u32 i = LOCAL_ID; i < n_kept; i += 256)
            out[place + i] = values[begin + first + kept[i]];
        place += n_kept;
        BARRIER();
    }
}
