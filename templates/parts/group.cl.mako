## group: scans, sums and maxima over the work-items of a work-group; other templates import these defs
##
##   value   3 1 2 2          one for each work-item
##   scan    0 3 4 6          exclusive: the sum of the values before; n scans at once
##   total   8                the same for all
##
## Each function uses `shared`, LOCAL memory of wg_size elements (n times as many for n scans). It must not
## be in use when the function is called, and is not in use afterwards. All work-items of the group must
## call the function. With wg_size 1, `shared` is not used.

## A work-item scans a run of neighbours, then every work-item adds the runs before its own. This takes
## three barriers; steps of doubling width would take two for every power of two.
<%def name="exclusive_scans(name, type, wg_size, n)">
<%
    run = 1
    while run * run < wg_size:
        run *= 2
    each = range(n)
    signature = ", ".join(
        [f"const {type} value{k}" for k in each] + [f"LOCAL {type}* shared"]
        + [f"{type}* before{k}, {type}* total{k}" for k in each])
%>
FN void ${name}(${signature}) {
% if wg_size == 1:
    (void)shared;
% for k in each:
    *before${k} = 0;
    *total${k} = value${k};
% endfor
% else:
    const u32 id = LOCAL_ID;
% for k in each:
    shared[${k * wg_size} + id] = value${k};
% endfor
    BARRIER();
    if (id < ${n * wg_size // run}) {
        ${type} sum = 0;
        for (u32 i = id * ${run}; i < (id + 1) * ${run}; i++) {
            sum += shared[i];
            shared[i] = sum;
        }
    }
    BARRIER();
% for k in each:
    {
        ${type} before = 0, all = 0;
        for (u32 run_end = ${run - 1}; run_end < ${wg_size}; run_end += ${run}) {
            const ${type} sum = shared[${k * wg_size} + run_end];
            if (run_end < id - id % ${run}) before += sum;
            all += sum;
        }
        *before${k} = before + shared[${k * wg_size} + id] - value${k};
        *total${k} = all;
    }
% endfor
    BARRIER();
% endif
}
</%def>

<%def name="exclusive_scan(name, type, wg_size)">
${exclusive_scans(name + "_of_one", type, wg_size, 1)}
FN ${type} ${name}(const ${type} value, LOCAL ${type}* shared, ${type}* total) {
    ${type} before;
    ${name}_of_one(value, shared, &before, total);
    return before;
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

<%def name="largest(name, type, wg_size)">
<%
    run = 1
    while run * run < wg_size:
        run *= 2
%>
FN ${type} ${name}(const ${type} value, LOCAL ${type}* shared) {
% if wg_size == 1:
    (void)shared;
    return value;
% else:
    const u32 id = LOCAL_ID;
    shared[id] = value;
    BARRIER();
    ${type} most = shared[id - id % ${run}];
    for (u32 i = 1; i < ${run}; i++) {
        const ${type} other = shared[id - id % ${run} + i];
        most = other > most ? other : most;
    }
    BARRIER();
    if (id % ${run} == 0) shared[id] = most;
    BARRIER();
    for (u32 i = 0; i < ${wg_size}; i += ${run}) most = shared[i] > most ? shared[i] : most;
    BARRIER();
    return most;
% endif
}
</%def>
