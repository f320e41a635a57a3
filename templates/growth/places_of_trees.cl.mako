## places_of_trees: joint codes of the features that each tree draws, for `pairs_of_nodes`; `drawn_places` makes them
##
##   tables   |tree 0 ..|tree 1 ..|     of members, digits and places; codes, too

## What `data_t` has of them: its tables and codes are those of the first tree.
<%def name="fields()">\
    u32 n_drawn;                    /* features of a tree */
    u64 tree_codes;                 /* from a tree's codes to those of the next one */
    GLOBAL const u32* drawn_places; /* places of each tree */
</%def>

<%def name="functions()">\
/* What lies at the places of a tree, and its codes. */
FN data_t of_tree(const data_t* data, const u32 tree) {
    data_t own = *data;
    own.n_places = own.n_joint = data->drawn_places[tree];
    own.members += tree * data->n_drawn;
    own.digit_begin += tree * (data->n_drawn + 1);
    own.digit_cells += tree * data->n_drawn;
    own.place_cells += tree * data->n_drawn;
    own.by_row += tree * data->tree_codes;
    return own;
}

/* The most places of a tree. */
FN u32 most_places(GLOBAL const u32* drawn_places, const u32 n_trees) {
    u32 most = 0;
    for (u32 tree = 0; tree < n_trees; tree++) most = drawn_places[tree] > most ? drawn_places[tree] : most;
    return most;
}
</%def>

## Sets them in `data`; some features have each place.
<%def name="read()">\
    data.n_drawn = n_drawn;
    data.tree_codes = tree_codes;
    data.drawn_places = drawn_places;
    const u32 n_joint = 0; /* see `of_tree` */
</%def>
