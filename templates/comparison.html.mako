## comparison: the report of pyopencl-gbdt bench --html; one file that loads nothing else
##
## params: view (comparison.report.View)
<%page args="view"/>\
<%!
    def breakable(name):
        """Let an escaped name end a line behind its dots and underscores."""
        return str(name).replace(".", ".<wbr>").replace("_", "_<wbr>")
%>\
<%def name="shape_title(compared)">\
<% s = compared.shape %>\
<h3>${s["name"]} <small>${f'{s["n_rows"]:,} × {s["n_features"]:,}'}, depth ${s["max_depth"]}, \
${s["max_bin"]} bins, ${s["n_rounds"]} rounds${f', {s["n_models"]} models' if s["n_models"] > 1 else ""}</small></h3>\
</%def>\
<%def name="all_figures()">\
<h2>All figures</h2>
<div class="scroll" tabindex="0"><table>
<thead><tr><th>shape</th>${"<th>device</th>" if view.compares else "" | n}<th class="n">set-up, s</th><th class="n">first fit, s</th>\
<th class="n">round, ms</th>${'<th class="n">over the best</th>' if view.compares else "" | n}<th class="n">M rows/s</th>\
<th class="n">memory</th><th class="n">% of copy</th>${"" if view.compares else "<th>model</th>" | n}</tr></thead>
<tbody>
% for compared in view.shapes:
<% best = min((row.result["round_ms"] for row in compared.measured), default=1.0) %>\
% if not compared.rows:
<tr><td class="name">${compared.shape["name"]}</td><td colspan="8">not trained: ${compared.shape["problem"]}</td></tr>
% endif
% for row in compared.rows:
<tr><td class="name">${compared.shape["name"]}</td>\
% if view.compares:
<td data-label="device">${swatch(view.colour(row))}${view.label(row.machine, row.device)}</td>\
% endif
% if row.failed:
<td colspan="7" class="bad">failed: ${row.result["problem"]}</td></tr>
% else:
<% r = row.result %>\
<td class="n" data-label="set-up, s">${view.short(r["setup_seconds"])}</td>\
<td class="n" data-label="first fit, s">${view.short(r["first_fit_seconds"])}</td>\
<td class="n" data-label="round, ms">${view.short(r["round_ms"])}</td>\
% if view.compares:
<td class="n" data-label="over the best">${view.short(r["round_ms"] / best, 2)} ×</td>\
% endif
<td class="n" data-label="M rows/s">${view.short(r["predicted_rows_per_second"] / 1e6)}</td>\
<td class="n" data-label="memory">${view.size(r["peak_bytes"])}</td>\
<td class="n" data-label="% of copy">${view.short(100 * r["share_of_copy"])}</td>\
% if not view.compares:
<td data-label="model"><code>${r["model_digest"][:10]}</code>${"" if r["repeats_agree"] else " differs from run to run"}</td>\
% endif
</tr>
% endif
% endfor
% endfor
</tbody></table></div>
</%def>\
<%def name="swatch(colour)"><i class="swatch c${colour % 8}"></i>&#8288;</%def>\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pyopencl_gbdt: devices compared</title>
<style>
:root { color-scheme: light dark; --page: #fbfbfa; --ink: #1d2126; --soft: #667079; --line: #dfe2e5;
  --card: #ffffff; --track: #eceef0; --good: #1c7c4a; --good-bg: #e2f4e9; --bad: #b3261e; --bad-bg: #fce4e2; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e4e7ea; --soft: #98a2ab;
  --line: #30363c; --card: #1d2126; --track: #2a3036; --good: #6fd39b; --good-bg: #17382a;
  --bad: #ff9d95; --bad-bg: #4a1f1c; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 1180px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; line-height: 1.2; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .2rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
h3 small { display: block; color: var(--soft); font-weight: 400; font-size: .82rem; }
p { margin: .2rem 0 .9rem; max-width: 75ch; }
.soft, figcaption { color: var(--soft); font-size: .88rem; }
.verdict { display: inline-block; padding: .45rem .8rem; border-radius: 8px; font-weight: 600; margin: .8rem 0 0; }
.good { color: var(--good); background: var(--good-bg); }
.bad { color: var(--bad); background: var(--bad-bg); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { padding: .45rem .7rem; text-align: left; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--soft); font-weight: 600; vertical-align: bottom; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: .85em ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
td.name { white-space: nowrap; }
td code { white-space: nowrap; padding: .1rem .35rem; border-radius: 5px; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 320px), 1fr)); gap: 14px; }
figure { margin: 0; padding: .9rem 1rem 1rem; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 11.5px; fill: var(--ink); }
svg .value { text-anchor: end; font-variant-numeric: tabular-nums; font-weight: 600; }
svg .track { fill: var(--track); }
% for number, colour in enumerate(("#3b76c2", "#e07b39", "#3f9e6b", "#b5548f", "#8a6fc9", "#b28a1e", "#3fa3b5", "#8d959c")):
.c${number} { fill: ${colour}; background: ${colour}; }
% endfor
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 3px; margin-right: .45em; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin-bottom: .8rem; font-size: .85rem; color: var(--soft); }
details { margin-top: .8rem; }
summary { cursor: pointer; color: var(--soft); font-size: .88rem; }
@media (max-width: 480px) {
  body { padding: 1.25rem .75rem 3rem; font-size: 16px; overflow-wrap: anywhere; }
  h1 { font-size: 1.45rem; }
  figure { padding: .7rem .6rem .8rem; }
  svg text { font-size: 13px; }
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { padding: .5rem .7rem; border-top: 1px solid var(--line); }
  td, td.n, td.name { overflow: hidden; padding: .1rem 0; border-top: 0; text-align: right; white-space: normal; }
  td:first-child { text-align: left; font-weight: 600; }
  td[data-label]::before { content: attr(data-label); float: left; max-width: 60%; margin-right: 1rem;
    color: var(--soft); text-align: left; } }
@media print { .cards { display: block; } figure { break-inside: avoid; margin-bottom: 14px; } }
</style>
</head>
<body>
<h1>Devices compared</h1>
<div class="soft">pyopencl_gbdt: gradient-boosted trees, the same data on every device</div>
<div class="verdict ${'good' if view.good else 'bad'}">${view.verdict[0].upper() + view.verdict[1:]}</div>

<h2>Devices</h2>
% for number, machine in enumerate(view.machines):
<p class="soft">${f"Machine {number + 1}: " if len(view.machines) > 1 else ""}${machine["name"]}, \
${machine["threads"]} threads${f', {view.size(machine["memory_bytes"])}' if machine["memory_bytes"] else ""}; \
${machine["date"]}; pyopencl_gbdt ${machine["library"]}, ${machine["versions"].get("Python", "")}, \
${machine["versions"].get("system", "")}; ${machine["options"]["repeats"]} repeats, seed \
${machine["options"]["seed"]}${", quick" if machine["options"]["quick"] else ""}\
% if not machine["finished"]:
. <b>Interrupted: what follows is a part.</b>\
% endif
</p>
% endfor
<div class="scroll" tabindex="0"><table>
<thead><tr><th>device</th><th>through</th><th>driver</th><th>kind</th><th class="n">units</th>\
<th class="n">memory</th><th class="n">copy, GB/s</th></tr></thead>
<tbody>
% for number, (machine, device) in enumerate(view.devices):
<% caps, rate = device["capabilities"], device["copy_bytes_per_second"] %>\
<tr><td class="name">${swatch(number)}${view.label(machine, device)}</td>\
<td data-label="through">${caps["platform"]}</td><td data-label="driver">${caps["driver"]}</td>\
<td data-label="kind">${caps["kind"].upper()}</td><td class="n" data-label="units">${caps["compute_units"]}</td>\
<td class="n" data-label="memory">${view.size(caps["global_bytes"])}</td><td class="n" data-label="copy, GB/s">${view.short(rate / 1e9) if rate else "failed: " + device["problem"]}</td></tr>
% endfor
</tbody></table></div>

% if view.compares:
<h2>The same bytes</h2>
<p class="soft">The first digits of the SHA-256 of every model in XGBoost's JSON format. Equal digits, equal files; \
the predicted margins are compared as well.</p>
<div class="scroll" tabindex="0"><table>
<thead><tr><th>shape</th>\
% for number, (machine, device) in enumerate(view.devices):
<th>${swatch(number)}${view.label(machine, device)}</th>\
% endfor
<th>verdict</th></tr></thead>
<tbody>
% for compared in view.shapes:
<tr><td class="name">${compared.shape["name"]}</td>\
% for machine, device in view.devices:
<% row, label = view.find(compared, machine, device), view.label(machine, device) %>\
% if row is None:
<td data-label="${label}">–</td>\
% elif row.failed:
<td data-label="${label}">failed</td>\
% else:
<td data-label="${label}"><code class="${'good' if compared.state == 'same' else 'bad' if compared.state == 'differ' and \
(row.digests != compared.kinds[0] or not row.result['repeats_agree']) else ''}">${row.result["model_digest"][:10]}</code>\
${"" if row.result["repeats_agree"] else " differs from run to run"}</td>\
% endif
% endfor
<td class="${'bad' if compared.state == 'differ' else ''}" data-label="verdict">${compared.shape["problem"] or compared.verdict}</td></tr>
% endfor
</tbody></table></div>

% for metric in view.metrics:
<h2>${metric.title}</h2>
<p class="soft">${metric.note}</p>
<div class="cards">
% for compared in view.shapes:
% if compared.measured:
<figure>${shape_title(compared)}${view.chart(metric, compared) | n}</figure>
% endif
% endfor
</div>
% endfor

<h2>Time of every kernel</h2>
<p class="soft">Milliseconds a round by the device's own clock, from a fit of its own. A bar is the whole of its \
device's time; gaps between kernels and the host's work are not in it.</p>
<div class="legend">\
% for number, name in enumerate(view.legend):
<span>${swatch(number)}${name}</span>\
% endfor
</div>
<div class="cards">
% for compared in view.shapes:
% if any(row.result["kernels"] for row in compared.measured):
<figure>${shape_title(compared)}${view.kernel_chart(compared) | n}</figure>
% endif
% endfor
</div>
% else:
${all_figures()}
<h2>Time of every kernel</h2>
<p class="soft">Milliseconds a round by the device's own clock, from a fit of its own; gaps between kernels and the \
host's work are not in it.</p>
% endif
% for compared in view.shapes:
<% tables = view.kernel_tables(compared) %>\
% if tables:
<details><summary>Figures of ${compared.shape["name"]}</summary><div class="scroll" tabindex="0"><table>
<thead><tr><th>kernel</th>\
% for row in tables:
<th class="n">${swatch(view.colour(row))}${view.label(row.machine, row.device)}<br>launches, ms, share of a copy</th>\
% endfor
</tr></thead>
<tbody>
% for name in view.kernels:
% if any(name in table for table in tables.values()):
<tr><td class="name">${name | n,h,breakable}</td>\
% for row, table in tables.items():
<% kernel, label = table.get(name), "launches · ms · share of a copy" %>\
<% label = f"{view.label(row.machine, row.device)}: {label}" if view.compares else label %>\
% if kernel is None:
<td class="n" data-label="${label}">–</td>\
% else:
<td class="n" data-label="${label}">${f'{kernel["launches"]:.3g}'} · ${view.short(kernel["ms"])} · \
${"–" if kernel["share_of_copy"] is None else f'{kernel["share_of_copy"]:.0%}'}</td>\
% endif
% endfor
</tr>
% endif
% endfor
</tbody></table></div></details>
% endif
% endfor

% if view.compares:
${all_figures()}
% endif

<h2>How it was measured</h2>
<p>Data are synthetic and seeded, the same bytes on every machine. Figures are medians of the repeats, after a fit to \
warm up; the host waits for the device before and after what it times. <i>First fit</i> is set-up and one round \
with kernels that were built for it, or read from the driver's cache. A device is measured while the others rest. \
Figures compare devices with their drivers, hosts and main memories, as they were on that day.</p>
<p class="soft">Written by pyopencl-gbdt bench, pyopencl_gbdt ${view.library}.</p>
</body>
</html>
