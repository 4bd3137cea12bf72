#include "machine_picture.hpp"

#include "tree_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace corewise::command {

namespace {

/// A package, node or cache that holds groups.
struct place {
  enum class sort : std::uint8_t { package, node, cache } is;
  std::uint32_t index; // into the topology's list

  bool operator==(const place&) const = default;
};

struct tree_place {
  place where;
  std::vector<tree_place> inside;
  std::vector<group_id> groups;
};

std::string memory_text(std::uint64_t bytes) {
  if (bytes == 0) return "";
  return fmt::format(" ({:.1f} GiB)", static_cast<double>(bytes) / (1 << 30));
}

class picture {
 public:
  picture(const divided_machine& m, const style& look, bool all) : m_(m), look_(look), all_(all) {}

  std::string draw() const {
    return headline() + draw_tree(tree(), look_, all_) + kinds() + limits() + steal_orders() + distances() +
           warnings();
  }

 private:
  std::string title(std::string_view text) const { return '\n' + look_.paint(ink::title, text) + '\n'; }
  std::string list(const cpu_set& set) const { return short_list(set, look_, all_); }

  std::string headline() const {
    const topology& t = m_.machine;
    std::string facts = counted(t.cpus().size(), "CPU");
    const auto add = [&](std::size_t n, std::string_view what) {
      if (n > 0) facts += ", " + counted(n, what);
    };
    add(t.cores().size(), "core");
    add(t.packages().size(), "package");
    add(t.nodes().size(), "NUMA node");
    add(t.llcs().size(), "last-level cache");
    add(t.kinds().size(), "kind");
    add(m_.groups.size(), "locality group");
    add(m_.workers.size(), "worker");
    return look_.paint(ink::title, t.source()) + "\n" + facts + "\n";
  }

  // The tree

  /// Returns whether nodes hold packages, as on some machines, and not the other way round.
  bool nodes_hold_packages() const {
    std::map<std::uint32_t, std::set<std::uint32_t>> packages_of;
    for (const locality_group& g : m_.groups.groups())
      if (g.node && g.package) packages_of[*g.node].insert(*g.package);
    return std::any_of(packages_of.begin(), packages_of.end(),
                       [](const auto& n) { return n.second.size() > 1; });
  }

  std::set<std::uint32_t> caches_of(const locality_group& g) const {
    std::set<std::uint32_t> caches;
    for (const std::uint32_t c : g.cores)
      if (const auto& llc = m_.machine.cores()[c].llc) caches.insert(*llc);
    return caches;
  }

  std::vector<place> places_of(const locality_group& g, bool node_first) const {
    std::vector<place> places;
    if (g.package) places.push_back({place::sort::package, *g.package});
    if (g.node) places.push_back({place::sort::node, *g.node});
    if (node_first) std::reverse(places.begin(), places.end());
    if (const auto caches = caches_of(g); caches.size() == 1)
      places.push_back({place::sort::cache, *caches.begin()});
    return places;
  }

  static tree_place& inside(tree_place& outer, const place& where) {
    for (tree_place& known : outer.inside)
      if (known.where == where) return known;
    return outer.inside.emplace_back(tree_place{where, {}, {}});
  }

  tree_line tree() const {
    const bool node_first = nodes_hold_packages();
    tree_place root{};
    for (const locality_group& g : m_.groups.groups()) {
      tree_place* at = &root;
      for (const place& p : places_of(g, node_first)) at = &inside(*at, p);
      at->groups.push_back(g.id);
    }
    tree_line drawn;
    add_below(drawn, root);
    add_memory_only_nodes(drawn);
    return drawn;
  }

  void add_below(tree_line& line, const tree_place& at) const {
    for (const tree_place& p : at.inside) line.below.push_back(line_of(p, "", ""));
    for (const group_id g : at.groups) line.below.push_back(line_of(m_.groups[g], "", ""));
    for (const tree_line& l : line.below) {
      line.cpus |= l.cpus;
      line.groups |= l.groups;
      line.shape += '(' + l.shape + ')';
    }
  }

  /// The line of a place. A place that holds only one thing shares its line.
  tree_line line_of(const tree_place& at, const std::string& outer, const std::string& outer_shape) const {
    const std::string name = outer + name_of(at.where) + ' ' + std::string(look_.glyph("·", "/")) + ' ';
    const std::string shape = outer_shape + shape_of(at.where) + '/';
    if (at.inside.size() == 1 && at.groups.empty()) return line_of(at.inside[0], name, shape);
    if (at.groups.size() == 1 && at.inside.empty()) return line_of(m_.groups[at.groups[0]], name, shape);
    tree_line line;
    line.shape = shape;
    add_below(line, at);
    line.text = fmt::format("{}{}  CPUs {}", outer, name_of(at.where), list(line.cpus));
    return line;
  }

  tree_line line_of(const locality_group& g, const std::string& outer, const std::string& outer_shape) const {
    const core_kind& kind = m_.machine.kinds()[g.kind];
    const std::size_t workers = m_.workers.of_group(g.id).size();
    const std::string rest =
        fmt::format("  {}, {}{}", counted(g.cores.size(), "core"), counted(workers, "worker"), spread_of(g));
    tree_line line;
    line.shape = fmt::format("{}{} {} {} {}", outer_shape, g.kind, g.cpus.size(), g.cores.size(), workers);
    line.cpus = g.cpus;
    line.groups.insert(g.id.value);
    line.text = outer + look_.paint(ink::group, fmt::format("group {}", g.id.value)) + "  " +
                look_.paint(ink::kind, fmt::format("{} {}", kind.name, g.capacity)) + rest +
                look_.paint(ink::number, fmt::format("  CPUs {}", list(g.cpus)));
    return line;
  }

  /// Says how many caches a group spans, where it spans more than one.
  std::string spread_of(const locality_group& g) const {
    const auto caches = caches_of(g);
    return caches.size() > 1 ? ", over " + counted(caches.size(), "cache") : "";
  }

  std::string name_of(const place& p) const {
    const topology& t = m_.machine;
    if (p.is == place::sort::package) {
      const auto& id = t.packages()[p.index].id;
      return id ? fmt::format("package {}", *id) : "package";
    }
    if (p.is == place::sort::node)
      return fmt::format("NUMA node {}{}", t.nodes()[p.index].os_index,
                         memory_text(t.nodes()[p.index].memory_bytes));
    return fmt::format("L{}", t.llcs()[p.index].level);
  }

  std::string shape_of(const place& p) const {
    if (p.is == place::sort::cache) return name_of(p);
    return p.is == place::sort::package ? "package" : "node";
  }

  void add_memory_only_nodes(tree_line& line) const {
    for (const numa_node& n : m_.machine.nodes()) {
      if (!n.home_cpus.empty()) continue;
      const std::string where = n.cpus.empty() ? "without CPUs" : "beside CPUs " + list(n.cpus);
      line.below.push_back(
          {fmt::format("NUMA node {}{}  memory {}", n.os_index, memory_text(n.memory_bytes), where),
           fmt::format("memory {}", n.os_index),
           {},
           {},
           {}});
    }
  }

  // The lists

  std::string kinds() const {
    std::string text = title("core kinds, slowest first");
    for (const core_kind& k : m_.machine.kinds()) {
      const auto cores = std::count_if(m_.machine.cores().begin(), m_.machine.cores().end(),
                                       [&](const core& c) { return c.kind == k.rank; });
      text += fmt::format("  {}  capacity {} {}, {}, CPUs {}\n", look_.paint(ink::kind, k.name), k.capacity,
                          look_.paint(ink::line, fmt::format("({})", k.source)),
                          counted(static_cast<std::size_t>(cores), "core"), list(k.cpus));
    }
    return text;
  }

  std::string limits() const {
    const host_limits& l = m_.machine.limits();
    std::string text = title("limits");
    if (l.affinity) text += fmt::format("  affinity mask  CPUs {}\n", list(*l.affinity));
    if (l.cpuset) text += fmt::format("  cpuset         CPUs {}\n", list(*l.cpuset));
    if (l.quota_cpus) text += fmt::format("  CPU quota      {:g} CPUs\n", *l.quota_cpus);
    if (!l.affinity && !l.cpuset && !l.quota_cpus) text += "  none known\n";
    if (l.part_hidden) text += "  not visible    limits of control groups above the container's\n";
    return text + fmt::format("  chosen         {}\n", counted(m_.workers.size(), "worker"));
  }

  std::string steal_orders() const {
    if (m_.groups.size() < 2) return "";
    std::string text = title("steal order");
    constexpr std::size_t few = 12;
    constexpr std::size_t shown_of_many = 3;
    const std::size_t n = m_.groups.size();
    for (std::size_t g = 0; g < n; ++g) {
      const bool fold = !all_ && n > few && g >= shown_of_many && g + 1 < n;
      if (!fold) text += steal_order(m_.groups.groups()[g]);
      if (fold && g == shown_of_many)
        text += look_.paint(ink::line, fmt::format("  {} {} more; --all shows them\n", look_.glyph("┊", ":"),
                                                   n - shown_of_many - 1));
    }
    return text;
  }

  std::string steal_order(const locality_group& g) const {
    static constexpr std::array<std::string_view, level_count> words{"", "domain", "node", "package",
                                                                     "beyond"};
    std::string text = "  " + look_.paint(ink::group, fmt::format("group {}", g.id.value));
    for (std::size_t at = 1; at < g.steal_order.size();) {
      const level l = m_.groups.level_between(g.id, g.steal_order[at]);
      std::size_t end = at;
      while (end < g.steal_order.size() && m_.groups.level_between(g.id, g.steal_order[end]) == l) ++end;
      text += fmt::format("  {} {}", look_.paint(ink::line, words[static_cast<std::size_t>(l)]),
                          ranges(std::span(g.steal_order).subspan(at, end - at)));
      at = end;
    }
    return text + '\n';
  }

  /// Writes numbers in their order, with those that follow each other drawn together: "4-7 0-2".
  static std::string ranges(std::span<const group_id> ids) {
    std::string text;
    for (std::size_t at = 0; at < ids.size();) {
      std::size_t end = at + 1;
      while (end < ids.size() && ids[end].value == ids[end - 1].value + 1) ++end;
      text += fmt::format("{}{}", text.empty() ? "" : " ", ids[at].value);
      if (end - at > 1) text += fmt::format("-{}", ids[end - 1].value);
      at = end;
    }
    return text;
  }

  std::string distances() const {
    const auto& d = m_.machine.distances();
    if (!d || d->nodes.size() < 2) return "";
    constexpr std::size_t few = 10;
    if (!all_ && d->nodes.size() > few) return title("node distances") + distance_summary(*d);
    std::string text = title("node distances") + "      ";
    for (const std::uint32_t n : d->nodes) text += fmt::format("{:>5}", n);
    for (std::size_t row = 0; row < d->nodes.size(); ++row) {
      text += fmt::format("\n  {:>4}", d->nodes[row]);
      for (const std::uint32_t to : d->matrix[row])
        text += look_.paint(ink::number, fmt::format("{:>5}", to));
    }
    return text + '\n';
  }

  static std::string distance_summary(const node_distances& d) {
    std::map<std::uint32_t, std::size_t> counts;
    for (const auto& row : d.matrix)
      for (const std::uint32_t to : row) ++counts[to];
    std::string text = fmt::format("  {} nodes; distances:", d.nodes.size());
    for (const auto& [distance, times] : counts) text += fmt::format(" {} ({}x)", distance, times);
    return text + "; --all shows the matrix\n";
  }

  std::string warnings() const {
    if (m_.machine.warnings().empty()) return "";
    std::string text = title("warnings");
    for (const std::string& w : m_.machine.warnings()) text += "  " + look_.paint(ink::warning, w) + '\n';
    return text;
  }

  const divided_machine& m_;
  const style& look_;
  bool all_;
};

} // namespace

std::string picture_of(const divided_machine& m, const style& look, bool all) {
  return picture(m, look, all).draw();
}

} // namespace corewise::command
