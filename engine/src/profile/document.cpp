#include "document.hpp"

#include "quotation.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace corewise::detail {

namespace {

using sort = document_node::sort;

/// The exception by which the builder ends the parsing of a document whose rest does not matter any more. The
/// issue is in the list.
struct enough {};

/// A list or map that is being read.
struct open_collection {
  document_node node;
  bool has_key = false; ///< a map's key was read and its value was not
  bool is_key = false;  ///< this collection itself stands where a key belongs
  std::string key;
  text_position key_at;
  std::unordered_map<std::string, std::uint32_t> lines; ///< of the keys so far
};

/// Returns whether the quoted text at the beginning of `text` is closed. The parser takes the end of the file
/// for a closing quote.
bool is_closed(std::string_view text) {
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != '\'') return true;
      ++i; // a quote that stands for itself
    }
  }
  return false;
}

/// Builds the tree from the parser's events. It expands nothing and recurses nowhere, so a hostile text costs
/// no more than its nodes, and the builder counts these.
class document_builder : public YAML::EventHandler {
 public:
  document_builder(const document_text& text, issue_list& issues) : text_(text), issues_(issues) {}

  document_node root() && { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // The parser takes text after a complete value for another document, so this also finds "a: [1] 2".
    if (documents_++ == 0) return;
    stop(position_of(mark), "found more text after the end of the document; a file holds one document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add_value(make(sort::nothing, mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    issues_.add(position_of(mark), path(), "found an alias; aliases are not allowed, write the value itself");
    document_node node = make(sort::nothing, mark);
    node.refused = true;
    add_value(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    document_node node = make(sort::scalar, mark);
    node.in_quotes = tag == "!";
    if (node.in_quotes) refuse_open_quote(mark);
    node.text = value;
    node.refused = value.size() > scalar_bytes_max;
    if (node.refused)
      issues_.add(node.at, path(),
                  fmt::format("found {} bytes of text; {} at most", value.size(), scalar_bytes_max));
    add_value(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(sort::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(sort::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  text_position position_of(const YAML::Mark& mark) const {
    if (mark.is_null()) return {};
    return text_.position_of(static_cast<std::size_t>(mark.line), static_cast<std::size_t>(mark.column));
  }

  [[noreturn]] void stop(text_position at, const std::string& message) {
    issues_.add(at, path(), message);
    throw enough{};
  }

  /// Returns the key path of the value that comes next.
  std::string path() const {
    std::string out;
    for (const open_collection& c : open_) {
      if (c.node.what == sort::list)
        out += fmt::format("[{}]", c.node.children.size());
      else if (c.has_key)
        out += (out.empty() ? "" : ".") + printable(c.key);
    }
    return out;
  }

  document_node make(sort what, const YAML::Mark& mark) {
    document_node node;
    node.what = what;
    node.at = position_of(mark);
    if (++nodes_ > document_nodes_max)
      stop(node.at, fmt::format("found more than {} values; a profile has about 100", document_nodes_max));
    return node;
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0)
      issues_.add(position_of(mark), path(),
                  "found an anchor; anchors are not allowed, write the value without it");
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // "?" and "!" are how the parser says "plain" and "in quotes" where the text has no tag.
    if (!tag.empty() && tag != "?" && tag != "!")
      issues_.add(position_of(mark), path(),
                  fmt::format("found the tag {}; write the value without it", quote(tag)));
  }

  void refuse_open_quote(const YAML::Mark& mark) {
    const std::string_view text = text_.text();
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (at >= text.size() || (text[at] != '"' && text[at] != '\'') || is_closed(text.substr(at))) return;
    stop(position_of(mark), "found a quote that is not closed; close the text with the quote that opens it");
  }

  void open(sort what, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open_collection c;
    c.node = make(what, mark);
    c.is_key = expects_key();
    if (c.is_key)
      issues_.add(c.node.at, path(),
                  fmt::format("found a {} as a key; keys are names", what == sort::list ? "list" : "map"));
    if (open_.size() == document_depth_max)
      stop(c.node.at,
           fmt::format("found more than {} levels of nesting; a profile has 4", document_depth_max));
    open_.push_back(std::move(c));
  }

  void close() {
    open_collection c = std::move(open_.back());
    open_.pop_back();
    if (c.is_key)
      take_key({}, c.node.at);
    else
      add_value(std::move(c.node));
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.what == sort::map && !open_.back().has_key;
  }

  void take_key(std::string key, text_position at) {
    open_.back().has_key = true;
    open_.back().key = std::move(key);
    open_.back().key_at = at;
  }

  void add_value(document_node node) {
    if (expects_key()) return add_key(std::move(node));
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    open_collection& c = open_.back();
    if (c.node.what == sort::list || accept_key(c, node)) c.node.children.push_back(std::move(node));
    c.has_key = false;
  }

  void add_key(document_node node) {
    if (node.text.empty() && !node.refused)
      issues_.add(node.at, path(), "found nothing as a key; keys are names");
    take_key(node.refused ? std::string() : std::move(node.text), node.at);
  }

  /// Gives the value its key. Returns whether the key is a new one.
  bool accept_key(open_collection& c, document_node& node) {
    if (c.key.empty()) return false; // reported when it was read
    const auto [first, is_new] = c.lines.try_emplace(c.key, c.key_at.line);
    if (!is_new)
      issues_.add(c.key_at, path(),
                  fmt::format("found this key a second time; it is already in line {}", first->second));
    node.key = c.key;
    node.key_at = c.key_at;
    return is_new;
  }

  const document_text& text_;
  issue_list& issues_;
  document_node root_;
  std::vector<open_collection> open_;
  std::size_t nodes_ = 0;
  std::size_t documents_ = 0;
};

struct explanation {
  std::string_view parser_says;
  std::string_view advice;
};

constexpr std::array<explanation, 12> explanations{{
    {"end of map not found", "indent the keys of one map equally"},
    {"end of sequence not found", "indent the items of one list equally"},
    {"end of map flow not found", "close \"{\" with \"}\" and put commas between its entries"},
    {"end of sequence flow not found", "close \"[\" with \"]\" and put commas between its items"},
    {"illegal map value", "indent the keys of one map equally, and put texts with \": \" in quotes"},
    {"illegal block entry", "begin a list on a line of its own"},
    {"illegal flow end", "add the bracket that opens, or put the text in quotes"},
    {"illegal EOF in scalar", "close the text with the quote that opens it"},
    {"illegal document indicator in scalar", "close the text with the quote that opens it"},
    {"the referenced anchor is not defined", "aliases are not allowed, write the value itself"},
    {"unknown token", "put texts that begin with a special character in quotes"},
    {"bad character when scanning directive", "remove the directive"},
}};

std::string explain(const std::string& message) {
  for (const explanation& e : explanations)
    if (message.starts_with(e.parser_says))
      return fmt::format("found text that is not YAML ({}); {}", printable(message), e.advice);
  return fmt::format("found text that is not YAML ({}); correct this line or the one above",
                     printable(message));
}

} // namespace

document_node read_document(const document_text& text, issue_list& issues) {
  document_builder builder(text, issues);
  std::istringstream in(text.text());
  try {
    YAML::Parser parser(in);
    // The second call finds text after the document.
    if (parser.HandleNextDocument(builder)) (void)parser.HandleNextDocument(builder);
  } catch (const enough&) {
    return {};
  } catch (const YAML::Exception& error) {
    const bool placed = !error.mark.is_null();
    const auto line = placed ? static_cast<std::size_t>(error.mark.line) : 0;
    const auto byte = placed ? static_cast<std::size_t>(error.mark.column) : 0;
    issues.add(text.position_of(line, byte), "", explain(error.msg));
    return {};
  }
  return std::move(builder).root();
}

} // namespace corewise::detail
