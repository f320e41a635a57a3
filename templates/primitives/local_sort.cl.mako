## local_sort: a stable sort of a tile in local memory by some bits of its keys, 4 bits a pass
##
##   work-items    0      1      2         each has the same number of neighbouring keys
##   keys          b a    a c    b a
##   words         a1b1   a1c1   a1b1      counts by digit; digits d and d + 8 share a word
##   scanned       a0b3   a1c5   a2b4      over digits, then work-items: index of the next key
##   keys          a a a b b c
##
## The counts are 9 rows of wg_size words: one row for each pair of digits, and a last row of zeros. So
## a work-item scans 9 neighbouring words, and this odd number avoids bank conflicts (Merrill &
## Grimshaw 2011, "High performance and scalable radix sorting"). PAD spreads the keys for the same
## reason. Needs group.exclusive_scan as scan_u32.
##
## `staged` has room for tile + tile / 32 + 1 keys, `index` for as many u16, which move with the keys if
## `with_index` is set. `words` has 9 * wg_size and `shared` wg_size u32. All are LOCAL. `digit` is a
## function (key, bit) that returns the 4 bits from `bit` on. Loops over a work-item's own keys are short
## and of fixed length, so GPU compilers unroll them and keep the keys in registers. There is no pragma
## for it, as PoCL 3.0 gives wrong keys with one.

<%def name="declare(name, type, digit, wg_size, items, with_index)">
#define PAD(i) ((i) + ((i) >> 5))

/* All work-items call it, after a BARRIER() behind the writes to `staged`. It ends with a BARRIER(). */
FN void ${name}(LOCAL ${type}* staged, LOCAL u16* index, LOCAL u32* words, LOCAL u32* shared,
                const u32 count, const u32 first_bit, const u32 end_bit) {
    const u32 id = LOCAL_ID;
    const u32 each = (count + ${wg_size - 1}) / ${wg_size}, begin = id * each;
    const u32 left = begin < count ? count - begin : 0, mine = left < each ? left : each;
    for (u32 bit = first_bit; bit < end_bit; bit += 4) {
        ${type} keys[${items}];
        u32 before[${items}], total;
% if with_index:
        u16 moved[${items}];
% endif
        for (u32 row = 0; row < 9; ++row) words[row * ${wg_size} + id] = 0;
        for (u32 k = 0; k < ${items}; ++k)
            if (k < mine) {
                keys[k] = staged[PAD(begin + k)];
% if with_index:
                moved[k] = index[PAD(begin + k)];
% endif
                const u32 d = ${digit}(keys[k], bit), half_word = (d & 8u) << 1;
                const u32 word = words[(d & 7u) * ${wg_size} + id];
                before[k] = (word >> half_word) & 0xffffu;
                words[(d & 7u) * ${wg_size} + id] = word + (1u << half_word);
            }
        BARRIER();
        u32 sum = 0;
        for (u32 k = 0; k < 9; ++k) sum += words[id * 9 + k];
        u32 next = scan_u32(sum, shared, &total);
        next += total << 16; /* digits 8 to 15 follow all of 0 to 7 */
        for (u32 k = 0; k < 9; ++k) {
            const u32 word = words[id * 9 + k];
            words[id * 9 + k] = next;
            next += word;
        }
        BARRIER();
        for (u32 k = 0; k < ${items}; ++k)
            if (k < mine) {
                const u32 d = ${digit}(keys[k], bit), half_word = (d & 8u) << 1;
                const u32 first = (words[(d & 7u) * ${wg_size} + id] >> half_word) & 0xffffu;
                const u32 place = PAD(first + before[k]);
                staged[place] = keys[k];
% if with_index:
                index[place] = moved[k];
% endif
            }
        BARRIER();
    }
% if not with_index:
    (void)index;
% endif
}
</%def>
