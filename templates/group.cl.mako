## group: what the work-items of one work-group compute together; other templates import these defs.
##
##   value   3 1 2 2          every work-item brings one
##   scan    0 3 4 6          exclusive: what lies before it
##   total   8                the same for all
##
## Each function needs `shared`, LOCAL memory of wg_size elements, free when it is entered, and
## leaves it free. All work-items of the group must call it. With wg_size 1 nothing is shared.

<%def name="exclusive_scan(name, type, wg_size)">
FN ${type} ${name}(const ${type} value, LOCAL ${type}* shared, ${type}* total) {
% if wg_size == 1:
    (void)shared;
    *total = value;
    return 0;
% else:
    const u32 id = LOCAL_ID;
    shared[id] = value;
    BARRIER();
    for (u32 step = 1; step < ${wg_size}; step *= 2) {
        const ${type} before = id >= step ? shared[id - step] : 0;
        BARRIER();
        shared[id] += before;
        BARRIER();
    }
    const ${type} inclusive = shared[id];
    *total = shared[${wg_size - 1}];
    BARRIER();
    return inclusive - value;
% endif
}
</%def>

<%def name="sum(name, type, wg_size)">
FN ${type} ${name}(const ${type} value, LOCAL ${type}* shared) {
% if wg_size == 1:
    (void)shared;
    return value;
% else:
    const u32 id = LOCAL_ID;
    shared[id] = value;
    BARRIER();
    for (u32 half_size = ${wg_size // 2}; half_size > 0; half_size /= 2) {
        if (id < half_size) shared[id] += shared[id + half_size];
        BARRIER();
    }
    const ${type} total = shared[0];
    BARRIER();
    return total;
% endif
}
</%def>
