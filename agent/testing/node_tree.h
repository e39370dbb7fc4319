// A node as a tree of files, made from a short text, for read_inventory() in tests. All trees are
// synthetic: written by hand from public descriptions of such machines.
//
// A line of the text is one of
//   PATH = TEXT              a file of one line
//   PATH |                   a file of the lines below it that begin with two blanks (taken off)
//   PATH : hex SIZE [@OFFSET HEX]...   a file of SIZE bytes, zero but for these
//   PATH -> TARGET           a symbolic link, unchanged
//   PATH => PATH             a symbolic link to a path of the tree, made relative
//   PATH /                   a folder
//   PATH @ SECONDS           when the file was modified, since 1970; an empty one if there is none
//   remove PATH              takes a file or folder away
//   refuse PATH              nobody but root may read it; read_tree() then reads as another user
//   include NAME             the lines of NAME.node
//   define NAME ... end      a template; ${key} in it is replaced, ${key:x} has a default
//   use NAME key=value ...   its lines
// Blank lines and lines that begin with # are ignored. Paths have no blanks and start below the
// root: sys/class/... A later line replaces an earlier one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/testing/temp_dir.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

class NodeTree {
 public:
  // An empty one.
  NodeTree() = default;
  ~NodeTree();
  NodeTree(const NodeTree&) = delete;
  NodeTree& operator=(const NodeTree&) = delete;
  // Loads agent/testing/nodes/NAME.node. A line that does not parse is printed and ends the
  // program.
  explicit NodeTree(const std::string& name);

  // Adds lines to the tree; they may use templates that were loaded before.
  void apply(const std::string& text);
  [[nodiscard]] const std::string& root() const { return root_.path(); }
  [[nodiscard]] bool refuses() const { return !refused_.empty(); }
  [[nodiscard]] std::string operator/(const std::string& path) const { return root_ / path; }

  // Returns the names of all nodes, sorted, without common.node, which has templates only.
  static std::vector<std::string> names();

 private:
  Status lay_out(const std::string& text, const std::string& where, int depth);
  Status one_line(const std::string& line, int depth);
  Status entry(const std::string& line);

  TempDir root_;
  std::map<std::string, std::string> templates_;
  std::vector<std::string> refused_;
};

}  // namespace railgauge::agent
