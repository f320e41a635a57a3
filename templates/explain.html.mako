## explain: the report of pyopencl-gbdt explain --html; one file that loads nothing else
##
## params: view (explain.report.ExplanationPage)
<%page args="view"/>\
<%def name="bars(rows)">\
<div class="bars">
% for row in rows:
<div class="bar"><span class="name">${view.short(row.name)}</span><span class="n">${row.text}</span>\
<span class="track"><i style="width:${f'{100 * row.share:.1f}'}%"></i></span></div>
% endfor
</div>
</%def>\
<%def name="legend()">\
% if view.outputs:
<div class="legend">\
% for number, name in enumerate(view.outputs):
<span><i class="swatch b${number % 8}"></i>output ${name}</span>\
% endfor
</div>
% endif
</%def>\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${view.model_name} on ${view.data_name}</title>
<style>
:root { color-scheme: light dark; --page: #fbfbfa; --ink: #1d2126; --soft: #5b6570; --line: #dfe2e5;
  --card: #ffffff; --track: #e8ebee; --above: #0072b2; --below: #d55e00; --box: #eef2f6; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e4e7ea; --soft: #a3adb6;
  --line: #30363c; --card: #1d2126; --track: #2a3036; --above: #56b4e9; --below: #f0863a; --box: #2a3036; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 1180px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; line-height: 1.25; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .2rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
p { margin: .2rem 0 .8rem; max-width: 75ch; }
.soft, small { color: var(--soft); font-size: .88rem; font-weight: 400; }
h3 small { display: block; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); gap: 14px; }
figure, .box { margin: 0; padding: .8rem .9rem; border: 1px solid var(--line); border-radius: 10px; background: var(--card);
  min-width: 0; }
.scrolls { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .35rem .7rem .35rem 0; text-align: left; border-top: 1px solid var(--line); vertical-align: top;
  font-weight: 400; }
tr:first-child > th, tr:first-child > td { border-top: 0; }
thead th, .facts th { color: var(--soft); }
.facts th { width: 7.5em; }
.times th { width: 18em; color: var(--soft); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.data th, .data .short { white-space: nowrap; }
.data td:first-child { width: 50%; }
.bars, .steps { display: grid; gap: .35rem; font-size: .9rem; }
.bar, .step { display: grid; grid-template-columns: 1fr auto; gap: 0 .8rem; }
.track { grid-column: 1 / 3; height: .55rem; border-radius: 3px; background: var(--track); position: relative; }
.track i { position: absolute; top: 0; bottom: 0; min-width: 2px; border-radius: 3px; background: var(--above); }
.track i.down { background: var(--below); }
svg { display: block; width: 100%; height: auto; }
svg.tree { max-width: none; height: auto; }
svg text { font-size: 11px; fill: var(--ink); }
svg .soft { fill: var(--soft); font-size: 10px; }
figure + figure { margin-top: 14px; }
.grid figure { margin: 0; }
svg .small { font-size: 10px; }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--line); }
svg .mark { stroke: var(--soft); stroke-dasharray: 2 3; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .edge { fill: none; stroke: var(--soft); stroke-width: 1.2; }
svg rect { stroke: var(--line); }
svg .split { fill: var(--box); }
svg .cut { stroke-dasharray: 4 3; }
svg .above { fill: var(--above); }
svg .below { fill: var(--below); }
% for number, colour in enumerate(("var(--above)", "var(--below)", "#3f9e6b", "#c56a9f", "#8a6fc9", "#b28a1e", "#3fa3b5", "#8d959c")):
.b${number} { background: ${colour}; } .line.s${number} { stroke: ${colour}; } .dot.s${number} { fill: ${colour}; }
% endfor
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 3px; margin-right: .45em; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin-bottom: .6rem; font-size: .85rem; color: var(--soft); }
@media (max-width: 480px) {
  body { padding: 1.2rem .75rem 3rem; }
  .data thead { display: none; }
  .data tr { display: block; padding: .4rem 0; border-top: 1px solid var(--line); }
  .data tbody tr:first-child { border-top: 0; }
  .data td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .05rem 0; text-align: right; }
  .data td:first-child { font-weight: 600; text-align: left; width: auto; }
  .data td[data-label]::before { content: attr(data-label); color: var(--soft); text-align: left; white-space: nowrap; }
  .facts th { width: 6em; padding-right: .4rem; white-space: nowrap; } .times th { width: 60%; } }
@media print { .grid { display: block; } figure { break-inside: avoid; margin-bottom: 14px; } }
</style>
</head>
<body>
<h1>${view.model_name}</h1>
<p class="soft">on ${view.data_name}, ${f"{view.rows.n_rows:,}"} rows: \
${", ".join(f"{name} {value:.6g}" for name, value in view.analysis.metrics.items())}</p>

<h2>The model</h2>
<div class="box"><table class="facts">
% for heading, text in view.facts:
<tr><th>${heading}</th><td>${text}</td></tr>
% endfor
</table></div>

<h2>The data</h2>
<p class="soft">${f"{view.rows.n_rows:,}"} rows; ${view.label_text}.\
% if len(view.columns) < view.model.ensemble.n_features:
 The ${len(view.columns)} most important of ${view.model.ensemble.n_features} columns:\
% endif
</p>
<div class="box"><table class="data">
<thead><tr><th>column</th><th>kind</th><th class="n">missing</th><th class="n">values</th></tr></thead>
<tbody>
% for column in view.columns:
<tr><td>${column.name}</td><td class="short" data-label="kind">${column.kind}</td><td class="n short" data-label="missing">${f"{column.missing:.1%}"}</td>\
<td class="n" data-label="values">${column.values}</td></tr>
% endfor
</tbody></table></div>

<h2>Learning curve and importances</h2>
<div class="grid">
<figure><h3>${view.labelled.metric} after each round <small>on these rows</small></h3>
${view.curve | n}
% if "best_iteration" in view.model.attributes():
<p class="soft">The dotted line is the best round, ${view.model.best_iteration}; predictions use the rounds up to it.</p>
% endif
</figure>
<figure><h3>Importances <small>share of the total gain in training</small></h3>
${bars(view.importances)}</figure>
</div>

% if view.analysis.dependence:
<h2>What predictions depend on</h2>
<p class="soft">The mean prediction of all rows, if all had the same value in one column.</p>
${legend()}
<div class="grid">
% for one in view.analysis.dependence:
<% drawn = view.dependence(one) %>\
<figure><h3>${view.short(one.feature_names[0])}\
% if not drawn and view.outputs:
 <small>output 0</small>\
% endif
</h3>
% if drawn:
${drawn | n}
% else:
${bars(view.level_bars(one))}
% endif
</figure>
% endfor
</div>
% endif

% if not view.explained:
<p class="soft">Nodes of this model have no cover, which contributions of single rows need.</p>
% endif
% if view.explained:
<h2>Why single rows are predicted as they are</h2>
<p class="soft">What each column adds to the base; together they are the margin, the prediction before the link. \
Blue adds, orange takes away.</p>
<div class="grid">
% for row in view.explained:
<% low, width = row.low, (row.high - row.low) or 1.0 %>\
<figure><h3>Row ${row.row}: ${row.why} <small>label ${row.label}, prediction ${row.prediction}</small></h3>
<p class="soft">base ${f"{row.base:.5g}"}, margin ${f"{row.margin:.5g}"}\
% if view.outputs:
 of output ${row.output}\
% endif
</p>
<div class="steps">
% for part in row.parts:
<div class="step"><span class="name">${view.short(part.name)}${f" = {part.value}" if part.value else ""}</span>\
<span class="n">${f"{part.amount:+.4g}"}</span><span class="track"><i class="${'up' if part.amount >= 0 else 'down'}" \
style="left:${f'{100 * (min(part.begin, part.end) - low) / width:.2f}'}%;width:${f'{100 * abs(part.amount) / width:.2f}'}%"></i></span></div>
% endfor
</div></figure>
% endfor
</div>
% endif

<h2>Where it errs most</h2>
% if view.analysis.segments:
<p class="soft">Parts of the rows whose mean loss is above that of all, found by a tree that predicts the loss.</p>
<div class="box"><table class="data">
<thead><tr><th>rows with</th><th class="n">rows</th><th class="n">${view.labelled.metric}</th><th class="n">mean loss</th></tr></thead>
<tbody>
% for segment in view.analysis.segments:
<tr><td>${segment.text}</td><td class="n" data-label="rows">${f"{segment.n_rows:,}"}</td><td class="n" data-label="${view.labelled.metric}">${f"{segment.score:.5g}"}</td>\
<td class="n" data-label="mean loss">${f"{segment.ratio:.2f}"} × that of all</td></tr>
% endfor
</tbody></table></div>
% else:
<p class="soft">No part of the rows stands out, or ${view.labelled.metric} is no mean over rows.</p>
% endif

% if view.trees:
<h2>The first trees</h2>
% for number, drawn, note in view.trees:
<figure><h3>Tree ${number} of ${len(view.model.ensemble.trees)} <small>${note}</small></h3>
<div class="scrolls" tabindex="0">${drawn | n}</div></figure>
% endfor
% endif

<h2>Device and time</h2>
<div class="box"><table class="times">
<tr><th>device</th><td>${view.device}</td></tr>
% for what, seconds in view.seconds.items():
<tr><th>${what}</th><td>${f"{seconds:.3g}"} s</td></tr>
% endfor
</table></div>
<p class="soft">Written by pyopencl-gbdt explain, pyopencl_gbdt ${view.library}.</p>
</body>
</html>
