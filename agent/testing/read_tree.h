// Inventories of synthetic nodes, each laid out and read once a test program because a tree has a
// thousand files.
#pragma once

#include <sys/fsuid.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/inventory/read_inventory.h"
#include "agent/testing/node_tree.h"

namespace railgauge::agent {

// A scope in which file access of this thread, and of threads started meanwhile, is that of an
// ordinary user, for tests that run as root.
class AsNobody {
 public:
  AsNobody() : before_(::setfsuid(kNobody)) {}
  ~AsNobody() { ::setfsuid(static_cast<uid_t>(before_)); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  int before_;
};

// Reads with a generous time limit, since the speed of the test machine is not tested.
inline Inventory read_tree(const NodeTree& tree) {
  std::optional<AsNobody> nobody;
  if (tree.refuses()) nobody.emplace();
  return read_inventory({.root = tree.root(), .source_seconds = 60});
}

struct KnownTree {
  NodeTree tree;
  Inventory inventory;
};
inline const KnownTree& known_tree(const std::string& name) {
  static std::map<std::string, std::unique_ptr<const KnownTree>> known;
  std::unique_ptr<const KnownTree>& entry = known[name];
  if (!entry) {
    auto made = std::make_unique<KnownTree>();
    made->tree.apply("include " + name + "\n");
    made->inventory = read_tree(made->tree);
    entry = std::move(made);
  }
  return *entry;
}

inline const Inventory& read_tree(const std::string& name) { return known_tree(name).inventory; }

}  // namespace railgauge::agent
