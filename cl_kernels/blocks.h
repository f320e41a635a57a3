/* blocks: where the blocks of 16 bytes lie to which the codes of a row are put; see `BlockOrder` in primitives/packed_codes.py.

   paired = 0   block b of row r   r * row_stride + b * block_stride
   paired = 1   neighbours lie together, and `block_stride` counts pairs of them */

/* The place of a block among those of row 0, in the units of the strides; `each`: a block's size in them. */
FN u64 block_at(const u32 block, const u64 block_stride, const u32 paired, const u32 each) {
    return (block >> paired) * block_stride + (block & paired) * each;
}
