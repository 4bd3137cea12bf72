#pragma once

#include "document.hpp"
#include "shape.hpp"

#include <functional>
#include <map>

namespace corewise::detail {

/// Compares a document with the shape that it should have, and passes each right value on.
class shape_reader {
 public:
  using receiver = std::function<void(std::size_t field, const element&, const setting&)>;

  shape_reader(const fact_list& facts, issue_list& issues, receiver receive)
      : facts_(facts),
        issues_(issues),
        receive_(std::move(receive)) {}

  void read(const document_node& document, const shape& expected);

  /// The positions of the key paths that the document has.
  const std::map<std::string, text_position>& positions() const noexcept { return positions_; }

 private:
  void read_node(const document_node& node, const shape& expected);
  void read_map(const document_node& node, const shape& expected);
  void read_entry(const document_node& node, const shape& expected);
  void read_list(const document_node& node, const shape& expected);
  void read_scalar(const document_node& node, const shape& expected);
  void check_required(const document_node& node, const shape& expected);
  void check_forms(const document_node& node, const shape& expected);
  void refuse(const document_node& node, const shape& expected);
  void refuse_key(const document_node& node, const shape& expected);
  std::string advice_for_key(const std::string& key, const shape& expected) const;

  const fact_list& facts_;
  issue_list& issues_;
  receiver receive_;
  std::map<std::string, text_position> positions_;
  std::string path_; // of the node that is being read
  element element_;
};

} // namespace corewise::detail
