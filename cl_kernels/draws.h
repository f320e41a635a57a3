/* draws: what random bits of a node's feature say of its borders, see `border_draws`. Twin: tests/reference/border_draws.py. */

/* One of n places, all alike likely but for a share of n / 2^32. */
FN u32 drawn_place(const u32 bits, const u32 n) { return (u32)(((u64)bits * n) >> 32); }
