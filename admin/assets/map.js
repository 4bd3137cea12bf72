'use strict';
// The live map. It asks the server that it comes from for the machine (topology) and for figures (live), once
// a second; or it plays a recording, which stands in the page. All names are written as text.
(() => {
  const levels = ['same_group', 'same_domain', 'same_node', 'same_package', 'cross_package'];
  const levelText = {
    same_group: 'own group', same_domain: 'same cache', same_node: 'same memory node',
    same_package: 'same socket', cross_package: 'another socket',
  };
  const interval = 1000; // ms between two questions
  const patience = 3000; // ms until an answer counts as missing
  const frame = 250; // ms for each moment of a recording
  const kept = 180; // moments
  const recent = 10; // moments in the figures of waiting times
  const smooth = 4; // moments in the figures of steals
  const mostFlows = 28;

  const byId = (id) => document.getElementById(id);
  function make(tag, className, text) {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }
  const makeSvg = (tag, className) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    if (className) e.setAttribute('class', className);
    return e;
  };
  function setText(e, text) {
    if (e.textContent !== text) e.textContent = text;
  }
  const sum = (list) => list.reduce((a, b) => a + b, 0);

  // --- numbers as text

  function scaled(n, units, by) {
    let u = 0;
    while (n >= by * 0.9995 && u + 1 < units.length) n /= by, u++;
    return `${n >= 9.95 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(1)}${units[u]}`;
  }
  const rateText = (n) => (n > 0 && n < 0.05 ? '<0.1' : scaled(n, ['', ' k', ' M', ' G'], 1000)) + '/s';
  const countText = (n) => scaled(n, ['', ' k', ' M', ' G'], 1000);
  const timeText = (ns) => scaled(ns, [' ns', ' µs', ' ms', ' s'], 1000);
  const bytesText = (n) => scaled(n, [' B', ' KiB', ' MiB', ' GiB', ' TiB'], 1024);
  const shareText = (s) => `${Math.round(s * 100)}%`;
  const boundText = (ns) => (ns === Infinity ? `above ${timeText(bounds[bounds.length - 1])}` : timeText(ns));

  // --- what is shown

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  let machine, groups, bounds = [], history = [], chosen = null, paused = false;
  let cards = [], nodeBars = [], items = [], current = null, names = null;
  let colours;

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    colours = {};
    for (const name of ['line', 'text', 'quiet', 'warn', 'bad', 'inner', 'panel', 'cross_package'])
      colours[name] = style.getPropertyValue(`--${name}`).trim();
    colours.busy = dark.matches ? ['#245a78', '#2a8f9a', '#5fbf7f', '#cfd957', '#ffd23f']
      : ['#9cc9de', '#5aa7c9', '#2f7fb0', '#205a8f', '#152f66'];
    colours.heat = dark.matches ? ['#1b2430', '#4a2a6b', '#a03a6e', '#ee7b4a', '#ffe08a']
      : ['#f7f9fb', '#fbd9a5', '#f08a4b', '#b8385c', '#4a1558'];
  }
  const parts = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
  function ramp(stops, s) {
    const at = Math.min(1, Math.max(0, s)) * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(at));
    const a = parts(stops[i]), b = parts(stops[i + 1]);
    return `rgb(${a.map((x, k) => Math.round(x + (b[k] - x) * (at - i))).join(',')})`;
  }

  // --- what happened between two moments

  function difference(before, now) {
    const seconds = Math.max(1e-9, (now.time_ns - before.time_ns) / 1e9);
    const n = now.workers.load.length;
    const rates = (a, b) => b.map((x, w) => Math.max(0, x - a[w]) / seconds);
    const flows = new Map();
    const stolen = {};
    for (const l of levels) {
      const each = rates(before.workers.stolen[l], now.workers.stolen[l]);
      stolen[l] = each;
      if (l === 'same_group') continue;
      for (let w = 0; w < n; w++) {
        if (each[w] === 0) continue;
        const key = `${now.workers.victims[l][w]}>${machine.groupOf[w]}`;
        flows.set(key, (flows.get(key) || 0) + each[w]);
      }
    }
    return {
      now, seconds, stolen, flows,
      busy: now.workers.busy_ns.map((x, w) =>
        Math.min(1, Math.max(0, (x - before.workers.busy_ns[w]) / 1e9 / seconds))),
      executed: rates(before.workers.executed, now.workers.executed),
      spilled: rates(before.workers.spilled, now.workers.spilled),
      parks: rates(before.workers.parks, now.workers.parks),
      waiting: groups.map((g) => {
        const after = now.waiting[g.id];
        return after ? after.map((x, i) => Math.max(0, x - before.waiting[g.id][i])) : [];
      }),
    };
  }

  /// Returns whether these are figures of the same engine, a moment later.
  function follows(before, now) {
    return before && now.workers.load.length === before.workers.load.length && now.time_ns > before.time_ns &&
      now.tasks.submitted >= before.tasks.submitted;
  }

  /// Adds up how long tasks of these groups waited.
  function waitingIn(steps, ids) {
    const all = new Array(bounds.length + 1).fill(0);
    for (const s of steps) for (const g of ids) s.waiting[g].forEach((x, i) => (all[i] += x));
    return all;
  }
  function quantile(counts, q) {
    const all = sum(counts);
    let passed = 0;
    for (let i = 0; i < counts.length; i++) {
      passed += counts[i];
      if (passed >= q * all) return i < bounds.length ? bounds[i] : Infinity;
    }
    return Infinity;
  }

  // --- the machine

  function parseCpus(list) {
    const cpus = new Set();
    for (const part of list.split(',').filter(Boolean)) {
      const [first, last] = part.split('-').map(Number);
      for (let c = first; c <= (last === undefined ? first : last); c++) cpus.add(c);
    }
    return cpus;
  }

  function readMachine(from) {
    machine = from;
    groups = from.groups;
    machine.groupOf = [];
    machine.cpuOf = [];
    for (const g of groups) {
      g.ids = g.worker_cpus.map((cpu, i) => {
        machine.groupOf[g.first_worker + i] = g.id;
        machine.cpuOf[g.first_worker + i] = cpu;
        return g.first_worker + i;
      });
      g.domain = groups.find((o) => from.levels[o.id][g.id] <= 1).id;
      const first = parseCpus(g.cpus);
      const own = from.llcs.filter((c) => [...parseCpus(c.cpus)].some((cpu) => first.has(cpu)));
      g.cache = own.length === 0 ? '' : own.length === 1 ? `L${own[0].level}` : `${own.length} × L${own[0].level}`;
    }
  }

  const packageText = (id) => (id === null ? 'Machine' : `Socket ${id}`);

  function place(kind, title, quiet, tag) {
    const box = make('div', `place ${kind}`);
    const head = make('div', 'head');
    head.append(make(tag, '', title));
    if (quiet) head.append(make('span', 'quiet', quiet));
    const inside = make('div', 'inside');
    box.append(head, inside);
    return { box, head, inside };
  }

  function memoryBar(head, osIndex) {
    const holder = make('span', 'memory');
    const bar = make('span', 'bar');
    const used = make('i', 'used'), cached = make('i', 'cached');
    bar.append(used, cached);
    const text = make('span');
    holder.append(text, bar);
    holder.hidden = true;
    head.append(holder);
    nodeBars.push({ osIndex, holder, bar, used, cached, text });
  }

  /// Builds the boxes: packages, memory nodes, caches with several groups, groups.
  function build() {
    history = []; // of another machine
    chosen = null;
    names = null;
    cards = [];
    nodeBars = [];
    const workers = sum(groups.map((g) => g.ids.length));
    const size = workers <= 4 ? { w: 64, gap: 12, h: 150, top: 44, across: 16, big: true }
      : workers <= 16 ? { w: 30, gap: 6, h: 84, top: 30, across: 16, big: true }
        : workers <= 160 ? { w: 8, gap: 2, h: 38, top: 14, across: 24 } : { w: 4, gap: 1, h: 20, top: 8, across: 20 };
    byId('picture').className = workers > 160 ? 'small' : '';
    const root = byId('packages');
    root.replaceChildren();
    const packages = new Map();
    for (const g of groups) {
      if (!packages.has(g.package)) packages.set(g.package, []);
      packages.get(g.package).push(g);
    }
    for (const [id, members] of packages) {
      const nodes = [...new Set(members.map((g) => g.node))];
      const quiet = nodes.length === 1 && nodes[0] !== null ? `memory node ${nodes[0]}` : '';
      const socket = place('package', packageText(id), quiet, 'h3');
      root.append(socket.box);
      for (const node of nodes) {
        let inside = socket.inside;
        if (nodes.length > 1) {
          const box = place('node', node === null ? 'No memory node' : `Memory node ${node}`, '', 'h4');
          socket.inside.append(box.box);
          inside = box.inside;
          if (node !== null) memoryBar(box.head, node);
        } else if (node !== null) {
          memoryBar(socket.head, node);
        }
        addDomains(inside, members.filter((g) => g.node === node), size);
      }
    }
    const far = machine.numa_nodes.filter((n) => n.home_cpus === '' && !groups.some((g) => g.node === n.os_index));
    if (far.length) {
      const box = place('package', 'Memory without cores', '', 'h3');
      for (const n of far) {
        const node = place('node', `Memory node ${n.os_index}`, bytesText(n.memory_bytes), 'h4');
        memoryBar(node.head, n.os_index);
        box.inside.append(node.box);
      }
      root.append(box.box);
    }
    if (workers <= 16) for (const card of cards) open(card, true);
    listItems();
    if (!items.includes(current)) current = null;
    rove(items[0], false);
    setText(byId('machine'), `${machine.source === 'live' ? 'this machine' : machine.source} · ${workers} worker${workers === 1 ? '' : 's'} in ` +
      `${groups.length} group${groups.length === 1 ? '' : 's'}`);
  }

  function addDomains(inside, members, size) {
    const domains = new Map();
    for (const g of members) {
      if (!domains.has(g.domain)) domains.set(g.domain, []);
      domains.get(g.domain).push(g);
    }
    for (const shared of domains.values()) {
      let into = inside;
      if (shared.length > 1) {
        const box = place('cache', shared[0].cache ? `${shared[0].cache} cache` : 'Together', '', 'h5');
        inside.append(box.box);
        into = box.inside;
      }
      for (const g of shared) into.append(makeCard(g, size));
    }
  }

  function makeCard(g, size) {
    const box = make('div', size.big ? 'group big' : 'group');
    const button = make('button');
    button.type = 'button';
    const line = make('span', 'line');
    const busy = make('span');
    line.append(make('b', '', `Group ${g.id}`),
      make('span', 'quiet', [machine.kinds.length > 1 ? g.kind : '', size.w > 4 ? g.cache : ''].filter(Boolean).join(' · ')),
      busy);
    const canvas = make('canvas', 'strip');
    const second = make('span', 'line');
    const waits = make('span', 'quiet'), own = make('span', 'quiet');
    second.append(waits, own);
    const list = make('div', 'workers');
    list.hidden = true;
    button.append(line, canvas, second);
    box.append(button, list);
    const card = { g, box, button, busy, waits, own, canvas, list, size, rows: [], shown: g.ids.map(() => 0) };
    if (!g.ids.length) box.classList.add('none');
    const lines = Math.max(1, Math.ceil(g.ids.length / size.across));
    card.across = Math.max(1, Math.ceil(g.ids.length / lines));
    const width = card.across * (size.w + size.gap);
    const height = lines * (size.h + size.top + 4);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    card.width = width;
    card.height = height;
    button.setAttribute('aria-expanded', 'false');
    button.addEventListener('click', () => {
      rove(button, true);
      choose({ group: g.id });
      open(card, card.list.hidden);
    });
    cards.push(card);
    return box;
  }

  /// Shows or hides the workers of a group one by one.
  function open(card, yes) {
    card.list.hidden = !yes;
    card.canvas.hidden = yes && !card.size.big;
    card.box.classList.toggle('open', yes);
    card.button.setAttribute('aria-expanded', String(yes));
    if (yes && !card.rows.length) {
      for (const w of card.g.ids) {
        const row = make('button', 'worker');
        row.type = 'button';
        const line = make('span', 'line');
        const name = make('b', '', `${w}`);
        name.append(make('span', 'quiet', ` CPU ${machine.cpuOf[w]}`));
        const text = make('span');
        line.append(name, text);
        const bar = make('span', 'bar');
        const fill = make('i');
        bar.append(fill);
        row.append(line, bar);
        row.tabIndex = -1;
        row.addEventListener('click', () => {
          rove(row, true);
          choose({ group: card.g.id, worker: w });
        });
        card.list.append(row);
        card.rows.push({ w, row, text, fill });
      }
    }
    if (yes && history.length) showRows(card, history[history.length - 1]);
    if (!yes && card.list.contains(document.activeElement)) rove(card.button, true);
    listItems();
    byId('open-all').setAttribute('aria-pressed', String(cards.every((c) => !c.list.hidden)));
    drawFlows();
  }

  // --- keys: one stop for Tab, and arrows within

  function listItems() {
    items = cards.flatMap((c) => [c.button, ...(c.list.hidden ? [] : c.rows.map((r) => r.row))]);
    for (const i of items) i.tabIndex = i === current ? 0 : -1;
  }
  function rove(item, focus) {
    if (!item) return;
    if (current) current.tabIndex = -1;
    current = item;
    current.tabIndex = 0;
    if (focus) current.focus();
  }
  /// Returns the nearest item in a direction.
  function nearest(from, dx, dy) {
    const at = (e) => {
      const r = e.getBoundingClientRect();
      return [r.left + Math.min(r.width / 2, 60), r.top + Math.min(r.height / 2, 16)];
    };
    const [x, y] = at(from);
    let best = null, least = Infinity;
    for (const e of items) {
      if (e === from) continue;
      const [ex, ey] = at(e);
      const along = (ex - x) * dx + (ey - y) * dy, aside = Math.abs((ex - x) * dy) + Math.abs((ey - y) * dx);
      if (along < 4 || (dx !== 0 && aside > 40 && along < aside)) continue;
      const cost = along + 2.5 * aside;
      if (cost < least) [best, least] = [e, cost];
    }
    return best;
  }
  function onKey(event) {
    const at = items.indexOf(document.activeElement);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    let to = null;
    if (event.key in arrows) {
      to = nearest(items[at], ...arrows[event.key]);
      if (!to && event.key === 'ArrowRight') to = items[at + 1];
      if (!to && event.key === 'ArrowLeft') to = items[at - 1];
    } else if (event.key === 'Home') to = items[0];
    else if (event.key === 'End') to = items[items.length - 1];
    else if (event.key === 'Escape') {
      const card = cards.find((c) => c.button === items[at] || c.list.contains(items[at]));
      open(card, false);
      rove(card.button, true);
      choose(null);
    } else return;
    event.preventDefault();
    if (to) {
      rove(to, true);
      to.scrollIntoView({ block: 'nearest' });
    }
  }

  function choose(what) {
    chosen = what;
    names = null;
    for (const card of cards) {
      card.box.classList.toggle('chosen', !!what && what.group === card.g.id && what.worker === undefined);
      for (const r of card.rows) r.row.classList.toggle('chosen', !!what && what.worker === r.w);
    }
    drawFlows();
    showAside();
    source.askNames();
  }

  // --- figures

  const totals = new Map();
  function total(name, text) {
    if (!totals.has(name)) {
      const box = make('div'), value = make('dd');
      box.append(make('dt', '', name), value);
      byId('totals').append(box);
      totals.set(name, value);
    }
    setText(totals.get(name), text);
  }

  const waitingNow = (now) =>
    Math.max(0, sum(now.workers.load) + now.tasks.injected + now.tasks.latency_queued + now.tasks.background_queued -
      now.workers.load.filter((x) => x > 0).length);

  function showTotals(step) {
    const times = waitingIn(history.slice(-recent), groups.map((g) => g.id));
    const some = sum(times) > 0;
    const all = sum(levels.map((l) => stolenNow(l)));
    total('At work', shareText(sum(step.busy) / Math.max(1, step.busy.length)));
    total('Tasks run', rateText(sum(step.executed)));
    total('In flight', countText(step.now.tasks.in_flight));
    total('Waiting', countText(waitingNow(step.now)));
    total('Half wait below', some ? boundText(quantile(times, 0.5)) : '–');
    total('99% wait below', some ? boundText(quantile(times, 0.99)) : '–');
    total('Stolen', rateText(all));
    if (machine.packages.length > 1) total('Across sockets', rateText(stolenNow('cross_package')));
  }

  function showHealth(now) {
    const marks = { ok: '● ok', degraded: '▲ degraded', wedged: '■ wedged', ended: '■ ended' };
    const state = byId('state');
    state.className = source.recorded ? '' : now.health;
    const mark = source.recorded ? `▶ recorded, at ${timeText(now.time_ns)}` : marks[now.health] || now.health;
    setText(state, paused ? `${mark} · paused` : mark);
    const trouble = byId('trouble');
    trouble.hidden = now.troubles.length === 0;
    setText(trouble, now.troubles.join('\n'));
  }

  function showChange(now) {
    const { changes, last } = now.machine || { changes: 0 }; // older recordings have none
    byId('changed').hidden = !changes;
    if (changes) setText(byId('changed'), `Change ${changes} of the machine: ${last}.`);
  }

  function showMemory(now) {
    for (const n of nodeBars) {
      const seen = now.memory.find((m) => m.node === n.osIndex);
      n.holder.hidden = !seen;
      if (!seen) continue;
      const used = seen.total_bytes - seen.free_bytes - seen.cache_bytes;
      n.used.style.width = `${(100 * used) / seen.total_bytes}%`;
      n.cached.style.width = `${(100 * seen.cache_bytes) / seen.total_bytes}%`;
      setText(n.text, `${bytesText(used)} of ${bytesText(seen.total_bytes)}`);
      n.holder.title = `used ${bytesText(used)}, files ${bytesText(seen.cache_bytes)}, free ${bytesText(seen.free_bytes)}`;
    }
  }

  const waitsOf = (load) => Math.max(0, load - 1);

  function showCards(step) {
    for (const card of cards) {
      const ids = card.g.ids;
      const busy = sum(ids.map((w) => step.busy[w])) / Math.max(1, ids.length);
      const waits = sum(ids.map((w) => waitsOf(step.now.workers.load[w])));
      const own = stolenNow('same_group', ids);
      setText(card.busy, ids.length ? shareText(busy) : '–');
      setText(card.waits, !ids.length ? 'no workers' : waits ? `▲ ${countText(waits)} wait` : 'none waits');
      card.waits.className = waits ? 'waits' : 'quiet';
      setText(card.own, own > 0 && card.size.w > 4 ? `↻ ${rateText(own)}` : '');
      card.own.title = 'stolen within the group';
      card.button.setAttribute('aria-label', `Group ${card.g.id}, ${card.g.kind}, ${ids.length} workers, ` +
        `${shareText(busy)} at work, ${waits} tasks wait`);
      if (!card.list.hidden) showRows(card, step);
    }
    glide();
  }

  function showRows(card, step) {
    for (const r of card.rows) {
      const busy = step.busy[r.w], waits = waitsOf(step.now.workers.load[r.w]);
      const standing = step.now.workers.standing[r.w] === 1, retired = step.now.workers.active[r.w] === 0;
      r.fill.style.width = `${Math.round(busy * 1000) / 10}%`;
      r.fill.style.background = ramp(colours.busy, busy);
      const state = standing ? '■ stuck' : retired ? 'retired' : shareText(busy);
      setText(r.text, waits ? `${state} · ▲ ${countText(waits)}` : state);
      r.row.classList.toggle('standing', standing);
      r.row.classList.toggle('retired', retired);
      r.row.setAttribute('aria-label', `Worker ${r.w} on CPU ${machine.cpuOf[r.w]}, ${state}` +
        `${standing || retired ? '' : ' at work'}, ${waits} tasks wait`);
    }
  }

  // --- bars of closed groups

  let gliding = 0;
  /// Moves the bars to where they belong, over some frames.
  function glide() {
    cancelAnimationFrame(gliding);
    const step = history[history.length - 1];
    let moves = false;
    for (const card of cards) {
      if (!card.canvas.hidden) moves = drawStrip(card, step) || moves;
    }
    if (moves) gliding = requestAnimationFrame(glide);
  }

  function fitted(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    const w = Math.round(width * scale), h = Math.round(height * scale);
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const to = canvas.getContext('2d');
    to.setTransform(scale, 0, 0, scale, 0, 0);
    to.clearRect(0, 0, width, height);
    return to;
  }

  /// Draws a bar for each worker: its time at work, and above it how many tasks wait, by powers of two.
  function drawStrip(card, step) {
    const { w, gap, h, top } = card.size;
    const to = fitted(card.canvas, card.width, card.height);
    let moves = false;
    card.g.ids.forEach((id, i) => {
      const goal = step ? step.busy[id] : 0;
      const far = goal - card.shown[i];
      if (Math.abs(far) > 0.004 && !still.matches) {
        card.shown[i] += far * 0.2;
        moves = true;
      } else {
        card.shown[i] = goal;
      }
      const x = (i % card.across) * (w + gap);
      const y = Math.floor(i / card.across) * (h + top + 4) + top;
      const workers = step ? step.now.workers : null;
      if (workers && workers.active[id] === 0) {
        to.strokeStyle = colours.line;
        to.setLineDash([2, 2]);
        to.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
        to.setLineDash([]);
        return;
      }
      to.fillStyle = colours.line;
      to.fillRect(x, y, w, h);
      const busy = card.shown[i];
      to.fillStyle = ramp(colours.busy, busy);
      to.fillRect(x, y + h * (1 - busy), w, h * busy);
      const waits = workers ? waitsOf(workers.load[id]) : 0;
      if (waits > 0) {
        const part = Math.max(2, (top - 2) * Math.min(1, Math.log2(1 + waits) / 8));
        to.fillStyle = colours.warn;
        to.fillRect(x, y - 2 - part, w, part);
      }
      if (workers && workers.standing[id] === 1) {
        to.strokeStyle = colours.bad;
        to.lineWidth = 2;
        to.strokeRect(x + 1, y + 1, w - 2, h - 2);
      }
    });
    return moves;
  }

  // --- which groups steal from which

  /// Returns the latest moments, each with its part of their time.
  function latest() {
    const steps = history.slice(-smooth);
    const all = sum(steps.map((s) => s.seconds));
    return steps.map((s) => [s, s.seconds / all]);
  }
  /// Returns how many tasks workers have stolen of late, in a second.
  function stolenNow(level, ids) {
    return sum(latest().map(([s, part]) =>
      part * sum(ids ? ids.map((w) => s.stolen[level][w]) : s.stolen[level])));
  }
  function flowsNow() {
    const all = new Map();
    for (const [s, part] of latest())
      for (const [key, rate] of s.flows) all.set(key, (all.get(key) || 0) + rate * part);
    return [...all].map(([key, rate]) => {
      const [from, to] = key.split('>').map(Number);
      return { from, to, rate, level: levels[machine.levels[from][to]] };
    }).sort((a, b) => b.rate - a.rate);
  }

  /// Returns the ends of an arrow between two boxes, and the point that bends it.
  function bend(a, b) {
    const ax = a.left + a.width / 2, bx = b.left + b.width / 2;
    const ay = a.top + a.height / 2, by = b.top + b.height / 2;
    if (Math.abs(ay - by) < (a.height + b.height) / 3) { // side by side: above, and back below
      const above = bx > ax;
      const shift = above ? 10 : -10;
      const y1 = above ? a.top + 1 : a.bottom - 1, y2 = above ? b.top + 1 : b.bottom - 1;
      const high = Math.min(46, 14 + Math.abs(bx - ax) * 0.1) * (above ? -1 : 1);
      return [ax + shift, y1, (ax + bx) / 2, (y1 + y2) / 2 + 2 * high, bx - shift, y2];
    }
    const edge = (r, cx, cy, tx, ty) => { // where the line to the other leaves the box
      const dx = tx - cx, dy = ty - cy;
      const t = Math.min(dx ? r.width / 2 / Math.abs(dx) : Infinity, dy ? r.height / 2 / Math.abs(dy) : Infinity);
      return [cx + dx * t, cy + dy * t];
    };
    const [x1, y1] = edge(a, ax, ay, bx, by), [x2, y2] = edge(b, bx, by, ax, ay);
    const dx = x2 - x1, dy = y2 - y1;
    return [x1, y1, (x1 + x2) / 2 - dy * 0.16, (y1 + y2) / 2 + dx * 0.16, x2, y2];
  }

  const arrows = [];
  function drawFlows() {
    if (!history.length) return;
    const svg = byId('flows');
    const all = flowsNow().filter((f) => !chosen || f.from === chosen.group || f.to === chosen.group);
    const flows = all.slice(0, mostFlows);
    setText(byId('ways'), all.length > flows.length ? ` (${mostFlows} of ${all.length} ways)` : '');
    const origin = byId('picture').getBoundingClientRect();
    const boxes = new Map();
    const boxOf = (id) => {
      if (!boxes.has(id)) {
        const r = cards.find((c) => c.g.id === id).box.getBoundingClientRect();
        boxes.set(id, { left: r.left - origin.left, top: r.top - origin.top, width: r.width, height: r.height,
          bottom: r.bottom - origin.top });
      }
      return boxes.get(id);
    };
    const most = Math.max(1, ...flows.map((f) => f.rate));
    while (arrows.length < flows.length) {
      const arrow = { line: makeSvg('path'), tip: makeSvg('path') };
      svg.append(arrow.line, arrow.tip);
      arrows.push(arrow);
    }
    arrows.forEach((arrow, i) => {
      const f = flows[i];
      arrow.line.style.display = arrow.tip.style.display = f ? '' : 'none';
      if (!f) return;
      const [x1, y1, cx, cy, x2, y2] = bend(boxOf(f.from), boxOf(f.to)).map((v) => Math.round(v * 10) / 10);
      const thick = 1 + 2.4 * Math.sqrt(f.rate / most);
      const angle = Math.atan2(y2 - cy, x2 - cx), long = 5 + thick * 1.6;
      const corner = (turn) => `${x2 - long * Math.cos(angle + turn)} ${y2 - long * Math.sin(angle + turn)}`;
      arrow.line.setAttribute('class', `flow ${f.level}`);
      arrow.line.setAttribute('d', `M${x1} ${y1}Q${cx} ${cy} ${x2} ${y2}`);
      arrow.line.style.strokeWidth = thick;
      arrow.line.style.opacity = 0.35 + 0.5 * Math.sqrt(f.rate / most);
      arrow.tip.setAttribute('class', `tip ${f.level}`);
      arrow.tip.setAttribute('d', `M${x2} ${y2}L${corner(0.45)} ${corner(-0.45)}Z`);
      arrow.tip.style.strokeDasharray = 'none';
    });
    svg.setAttribute('class', 'runs');
  }

  // --- beside the machine

  const stealRows = new Map();
  function showSteals() {
    const table = byId('steals');
    if (!stealRows.size)
      for (const l of levels) {
        const row = make('tr');
        const sample = makeSvg('svg', 'sample runs'), line = makeSvg('path', `flow ${l}`);
        line.setAttribute('d', 'M1 5H33');
        line.style.strokeWidth = 2.5;
        sample.append(line);
        const cells = [make('td'), make('td', '', levelText[l]), make('td', 'wide'), make('td', 'number')];
        const bar = make('span', 'bar'), fill = make('i', `level ${l}`);
        bar.append(fill);
        cells[0].append(sample);
        cells[2].append(bar);
        row.append(...cells);
        table.append(row);
        stealRows.set(l, { fill, number: cells[3] });
      }
    const ids = chosenWorkers();
    const rates = levels.map((l) => stolenNow(l, ids));
    const all = sum(rates);
    levels.forEach((l, i) => {
      const share = all ? rates[i] / all : 0;
      const row = stealRows.get(l);
      row.fill.style.width = `${100 * share}%`;
      setText(row.number, `${rateText(rates[i])} · ${shareText(share)}`);
    });
  }

  function chosenGroups() {
    return chosen ? [chosen.group] : groups.map((g) => g.id);
  }
  function chosenWorkers() {
    if (chosen && chosen.worker !== undefined) return [chosen.worker];
    return chosen ? groups[chosen.group].ids : groups.flatMap((g) => g.ids);
  }

  /// Writes under the first column when that was.
  function sayHowLongAgo(to, left, width, y, across) {
    const x = Math.max(left, width - history.length * across);
    if (history.length > 1 && x < width - 110) to.fillText(`${timeText(sum(history.map((s) => s.seconds)) * 1e9)} ago`, x, y);
  }

  /// Draws how much of its time each worker worked, or where there are many, each group: a line for each, a
  /// column for each moment.
  function drawBusy() {
    const canvas = byId('busy');
    const single = machine.cpuOf.length <= 16;
    const lines = single ? machine.cpuOf.map((_, w) => ({ name: `Worker ${w}`, ids: [w] }))
      : groups.filter((g) => g.ids.length).map((g) => ({ name: `Group ${g.id}`, ids: g.ids }));
    const high = Math.max(5, Math.min(26, Math.floor(260 / lines.length)));
    const left = 66, bottom = 20, height = lines.length * high + bottom;
    canvas.style.height = `${height}px`;
    const width = canvas.clientWidth;
    if (!width) return;
    const to = fitted(canvas, width, height);
    const across = (width - left) / Math.min(kept, Math.max(60, history.length));
    to.fillStyle = colours.inner;
    to.fillRect(left, 0, width - left, height - bottom);
    to.font = '11px system-ui, sans-serif';
    const gap = high > 12 ? 2 : high > 6 ? 1 : 0;
    const every = Math.ceil(13 / high);
    lines.forEach((line, i) => {
      to.fillStyle = colours.quiet;
      to.textAlign = 'right';
      if (i % every === 0) to.fillText(line.name, left - 6, i * high + Math.max(9, high / 2 + 4));
      history.forEach((s, c) => {
        const x = width - (history.length - c) * across;
        if (x < left - across / 2) return;
        const busy = sum(line.ids.map((w) => s.busy[w])) / line.ids.length;
        const tall = (high - gap) * (single ? Math.max(0.04, busy) : 1); // a bar where there is room for one
        to.fillStyle = ramp(colours.busy, busy);
        to.fillRect(Math.max(left, x), (i + 1) * high - gap - tall, across + 0.5, tall);
      });
    });
    to.fillStyle = colours.quiet;
    to.fillText('now', width - 2, height - 5);
    to.textAlign = 'left';
    sayHowLongAgo(to, left, width, height - 5, across);
    setText(byId('busy-title'), `Time at work, of each ${single ? 'worker' : 'group'}`);
    canvas.setAttribute('aria-label', `Time at work over time; now ${lines.slice(0, 16).map((l) =>
      `${l.name} ${shareText(sum(l.ids.map((w) => history[history.length - 1].busy[w])) / l.ids.length)}`).join(', ')}`);
  }

  /// Draws how long tasks waited, a column for each moment. Lines: half, and 99% of them, waited less.
  function drawHeat() {
    const canvas = byId('heat');
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    const to = fitted(canvas, width, height);
    const left = 52, bottom = 20, ids = chosenGroups();
    const columns = history.map((s) => waitingIn([s], ids));
    const all = waitingIn(history, ids);
    const some = all.map((x, i) => (x ? i : -1)).filter((i) => i >= 0);
    const lowest = some.length ? Math.min(some[0], all.length - 8) : 0;
    const highest = some.length ? Math.max(some[some.length - 1], lowest + 7) : 11;
    const rows = highest - lowest + 1;
    const across = (width - left) / Math.min(kept, Math.max(60, columns.length)), high = (height - bottom) / rows;
    to.fillStyle = colours.heat[0];
    to.fillRect(left, 0, width - left, height - bottom);
    const yOf = (i) => height - bottom - (i - lowest + 1) * high;
    columns.forEach((counts, c) => {
      const most = sum(counts);
      const x = width - (columns.length - c) * across;
      if (x < left - across / 2 || !most) return;
      for (let i = lowest; i <= highest; i++) {
        if (!counts[i]) continue;
        to.fillStyle = ramp(colours.heat, 0.18 + 0.82 * Math.sqrt(counts[i] / most));
        to.fillRect(Math.max(left, x), yOf(i), across + 0.5, high + 0.5);
      }
    });
    const line = (q, dash) => {
      to.strokeStyle = colours.text;
      to.lineWidth = 1.5;
      to.setLineDash(dash);
      to.beginPath();
      let before = false;
      for (let c = 0; c < columns.length; c++) {
        const near = waitingIn(history.slice(Math.max(0, c - 4), c + 1), ids);
        const x = width - (columns.length - c) * across;
        const i = bounds.indexOf(quantile(near, q));
        const seen = sum(near) > 0 && x >= left;
        const y = yOf(i < 0 ? highest : i) + high / 2;
        if (seen) before ? to.lineTo(x + across / 2, y) : to.moveTo(x + across / 2, y);
        before = seen;
      }
      to.stroke();
      to.setLineDash([]);
    };
    line(0.5, []);
    line(0.99, [4, 3]);
    to.fillStyle = colours.quiet;
    to.font = '11px system-ui, sans-serif';
    to.textAlign = 'right';
    const every = Math.max(1, Math.ceil(rows / 8));
    for (let i = lowest; i <= highest; i += every)
      to.fillText(i < bounds.length ? timeText(bounds[i]) : 'longer', left - 6, yOf(i) + high / 2 + 4);
    to.fillText('now', width - 2, height - 5);
    to.textAlign = 'left';
    sayHowLongAgo(to, left, width, height - 5, across);
    const times = waitingIn(history.slice(-recent), ids);
    const what = chosen ? `group ${chosen.group}` : 'the whole engine';
    const text = sum(times) ? `half below ${boundText(quantile(times, 0.5))}, 99% below ${boundText(quantile(times, 0.99))}`
      : 'no tasks were timed of late';
    setText(byId('waiting-note'), `Of ${what}: ${text}. Line: half; dashes: 99%.`);
    canvas.setAttribute('aria-label', `Waiting time of ${what} over time: ${text}`);
  }

  let trend = null;
  const ways = [];
  function showCrossing(step) {
    const box = byId('crossing');
    if (machine.packages.length < 2) {
      setText(box, 'This machine has one socket.');
      return;
    }
    if (!trend) {
      box.replaceChildren();
      trend = { note: make('p', 'note'), table: make('table'), canvas: make('canvas') };
      trend.canvas.id = 'trend';
      box.append(trend.note, trend.table, trend.canvas);
    }
    const stolen = stolenNow('cross_package'), all = sum(levels.map((l) => stolenNow(l)));
    setText(trend.note, `${rateText(stolen)} stolen across, ${shareText(all ? stolen / all : 0)} of what is stolen; ` +
      `${rateText(sum(step.spilled))} sent by tasks to another cache.`);
    const pairs = new Map();
    for (const f of flowsNow()) {
      if (f.level !== 'cross_package') continue;
      const key = `${packageText(groups[f.from].package)} → ${packageText(groups[f.to].package)}`;
      pairs.set(key, (pairs.get(key) || 0) + f.rate);
    }
    const top = [...pairs].sort((a, b) => b[1] - a[1]).slice(0, 6);
    while (ways.length < top.length) {
      const row = make('tr'), cells = [make('td'), make('td', 'wide'), make('td', 'number')];
      const bar = make('span', 'bar'), fill = make('i', 'level cross_package');
      bar.append(fill);
      cells[1].append(bar);
      row.append(...cells);
      trend.table.append(row);
      ways.push({ row, name: cells[0], fill, number: cells[2] });
    }
    ways.forEach((way, i) => {
      way.row.hidden = i >= top.length;
      if (way.row.hidden) return;
      setText(way.name, top[i][0]);
      setText(way.number, rateText(top[i][1]));
      way.fill.style.width = `${(100 * top[i][1]) / top[0][1]}%`;
    });
    const width = trend.canvas.clientWidth, height = trend.canvas.clientHeight;
    if (!width) return;
    const to = fitted(trend.canvas, width, height);
    const values = history.map((s) => sum(s.stolen.cross_package));
    const most = Math.max(1e-9, ...values);
    to.fillStyle = colours.cross_package;
    const each = width / Math.max(60, values.length);
    values.forEach((v, i) => to.fillRect(width - (values.length - i) * each, height - (v / most) * (height - 2), Math.max(1, each - 1),
      (v / most) * (height - 2)));
    to.fillStyle = colours.line;
    to.fillRect(0, height - 1, width, 1);
    trend.canvas.setAttribute('role', 'img');
    trend.canvas.setAttribute('aria-label', `Stolen across sockets over time, ${rateText(most)} at most`);
  }

  function showChosen(step) {
    const table = byId('chosen');
    const rows = [];
    const ids = chosenWorkers();
    const worker = chosen && chosen.worker !== undefined;
    setText(byId('chosen-title'), !chosen ? 'The whole engine' : worker ? `Worker ${chosen.worker}` : `Group ${chosen.group}`);
    const mean = (list) => sum(ids.map((w) => list[w])) / Math.max(1, ids.length);
    const all = (list) => sum(ids.map((w) => list[w]));
    if (chosen) {
      const g = groups[chosen.group];
      rows.push(['Cores', `${g.kind}, capacity ${g.capacity} of 1024`]);
      rows.push(worker ? ['CPU', `${machine.cpuOf[chosen.worker]}, in group ${g.id}`] : ['CPUs', g.cpus]);
      rows.push(['Memory node', g.node === null ? '–' : `${g.node}`]);
    } else {
      const kinds = machine.kinds.map((k) => `${k.name} (capacity ${k.capacity})`);
      rows.push(['Core kinds', kinds.join(', ')], ['CPUs', machine.cpus], ['Spare threads', `${step.now.spare_threads}`]);
      rows.push(['Failed, refused', `${countText(step.now.tasks.failed)}, ${countText(step.now.tasks.refused)}`]);
    }
    rows.push(['At work', shareText(mean(step.busy))], ['Tasks run', rateText(all(step.executed))]);
    rows.push(['Queued and running', countText(all(step.now.workers.load))], ['Went to sleep', rateText(all(step.parks))]);
    if (worker && names) {
      rows.push(['State', names.state]);
      if (names.task_kind) rows.push(['Task', names.task_kind]);
      if (names.task_name) rows.push(['Name', names.task_name]);
      if (names.task_id) rows.push(['Id', names.task_id]);
      if (names.task_age_us !== null) rows.push(['Runs for', timeText(names.task_age_us * 1000)]);
    }
    while (table.rows.length > rows.length) table.deleteRow(-1);
    rows.forEach(([name, value], i) => {
      const row = table.rows[i] || table.insertRow();
      while (row.cells.length < 2) row.insertCell();
      setText(row.cells[0], name);
      setText(row.cells[1], value);
    });
  }

  function showAside() {
    const step = history[history.length - 1];
    if (!step) return;
    drawHeat();
    drawBusy();
    showSteals();
    showCrossing(step);
    showChosen(step);
  }

  function showAll() {
    const step = history[history.length - 1];
    if (!step) return;
    showTotals(step);
    showHealth(step.now);
    showChange(step.now);
    showMemory(step.now);
    showCards(step);
    drawFlows();
    showAside();
  }

  // --- where figures come from

  class Live {
    constructor() {
      this.recorded = false;
      this.before = null;
      this.timer = 0;
      this.asking = false;
      this.gone = false;
      this.named = false; // whether tasks are named here, as at the control socket
      const engine = new URLSearchParams(location.search).get('engine'); // of several that the server has
      this.which = engine === null ? '' : `?engine=${encodeURIComponent(engine)}`;
    }
    async get(path, type) {
      const stop = new AbortController();
      const late = setTimeout(() => stop.abort(), patience);
      try {
        const answer = await fetch(path + this.which, { cache: 'no-store', signal: stop.signal, headers: { Accept: type } });
        if (!answer.ok) throw new Error(`${answer.status}`);
        return type === 'text/plain' ? await answer.text() : await answer.json();
      } finally {
        clearTimeout(late);
      }
    }
    async start() {
      const paths = await this.get('/', 'text/plain');
      this.named = paths.split('\n').includes('/dump');
      const from = await this.get('/topology', 'application/json');
      const same = machine && JSON.stringify(from) === this.text;
      this.text = JSON.stringify(from);
      if (same) return;
      readMachine(from);
      build();
    }
    async ask() {
      clearTimeout(this.timer);
      if (this.asking || paused || document.hidden) return;
      this.asking = true;
      try {
        if (!this.before) await this.start();
        const now = await this.get('/live', 'application/json');
        if (this.gone) this.back();
        this.take(now);
        if (chosen && chosen.worker !== undefined) await this.askNames();
      } catch (error) {
        this.lost();
      } finally {
        this.asking = false;
      }
      this.timer = setTimeout(() => this.ask(), interval);
    }
    take(now) {
      bounds = now.waiting_bounds_ns;
      if (follows(this.before, now)) {
        history.push(difference(this.before, now));
        if (history.length > kept) history.shift();
        this.before = now;
        showAll();
      } else if (this.before) { // another engine answers
        this.before = null;
        history = [];
      } else {
        this.before = now;
        showHealth(now);
        showChange(now);
        showMemory(now);
      }
    }
    lost() {
      if (!this.gone) {
        this.gone = true;
        const since = new Date().toLocaleTimeString();
        byId('state').className = 'gone';
        setText(byId('state'), '✕ no answer');
        byId('trouble').hidden = false;
        setText(byId('trouble'), `The engine does not answer since ${since}. What is shown is from before. The page goes on asking.`);
        document.body.classList.add('gone');
      }
      this.before = null;
    }
    back() {
      this.gone = false;
      history = [];
      byId('trouble').hidden = true;
      document.body.classList.remove('gone');
    }
    async askNames() {
      if (!this.named || !chosen || chosen.worker === undefined) return;
      const worker = chosen.worker;
      const dump = await this.get('/dump', 'application/json').catch(() => null);
      if (!dump || !chosen || chosen.worker !== worker) return;
      names = dump.seats[worker];
      if (history.length) showChosen(history[history.length - 1]);
    }
    pause() {
      if (history.length) showHealth(history[history.length - 1].now);
      if (!paused) this.ask();
    }
  }

  class Recording {
    constructor(text) {
      this.recorded = true;
      const { machine: from, moments } = JSON.parse(text);
      readMachine(from);
      bounds = moments[0].waiting_bounds_ns;
      this.steps = moments.slice(1).map((m, i) => difference(moments[i], m));
      this.at = 0;
      this.timer = 0;
      const position = byId('position');
      position.max = this.steps.length;
      byId('position-label').hidden = false;
      position.addEventListener('input', () => {
        paused = true;
        this.pause();
        this.show(Number(position.value));
      });
      build();
    }
    ask() {
      clearTimeout(this.timer);
      if (paused || document.hidden || !this.steps.length) return;
      this.show((this.at % this.steps.length) + 1);
      this.timer = setTimeout(() => this.ask(), frame);
    }
    show(at) {
      this.at = at;
      history = this.steps.slice(Math.max(0, at - kept), at);
      byId('position').value = at;
      byId('position').setAttribute('aria-valuetext', `${timeText(history[history.length - 1].now.time_ns)} of the recording`);
      showAll();
    }
    askNames() {}
    pause() {
      byId('pause').setAttribute('aria-pressed', String(paused));
      if (history.length) showHealth(history[history.length - 1].now);
      if (!paused) this.ask();
    }
  }

  // --- begin

  readColours();
  const recording = byId('recording');
  const source = recording ? new Recording(recording.textContent) : new Live();
  byId('pause').addEventListener('click', () => {
    paused = !paused;
    byId('pause').setAttribute('aria-pressed', String(paused));
    byId('picture').classList.toggle('paused', paused);
    source.pause();
  });
  byId('open-all').addEventListener('click', () => {
    const yes = cards.some((c) => c.list.hidden);
    for (const card of cards) open(card, yes);
    showAll();
  });
  byId('picture').addEventListener('keydown', onKey);
  document.addEventListener('visibilitychange', () => source.ask());
  dark.addEventListener('change', () => {
    readColours();
    showAll();
  });
  new ResizeObserver(() => {
    drawFlows();
    if (history.length) drawHeat(), drawBusy();
  }).observe(byId('picture'));
  source.ask();
})();
