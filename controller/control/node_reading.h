// The store's words about all nodes, for pages: read anew beside those who ask for them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "controller/store/nodes/node_words.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Names, stacks and words of all nodes in the store.
struct StoredNodes {
  std::map<std::string, std::int64_t> stacks{};  // by name; 0 of a node without one
  std::map<std::string, std::string> ids{};      // by name
  store::NodeWords words{};
};

// Thread safe.
class NodeReading {
 public:
  // A reading that may differ from the store is replaced so long after it began. With the time of
  // the reading itself, an answer is some two seconds old, where readings succeed.
  static constexpr double kRenewSeconds = 1;
  // Where readings take longer, or fail, nobody gets one that is older: the caller reads by itself.
  static constexpr double kMostSeconds = 10;

  using Read = std::function<Result<StoredNodes>()>;
  // Grows with each change after which a reading may differ: Store::node_changes().
  using Changes = std::function<std::uint64_t()>;
  // Both are called on any thread until the object's end.
  NodeReading(Read read, Changes changes, double renew_seconds = kRenewSeconds,
              double most_seconds = kMostSeconds);
  ~NodeReading();
  NodeReading(const NodeReading&) = delete;
  NodeReading& operator=(const NodeReading&) = delete;

  // The newest reading, at once. The caller reads the store only where there is no reading yet, or
  // none for kMostSeconds. Errors: those of `read`.
  Result<std::shared_ptr<const StoredNodes>> newest();
  // Reads on the caller's thread; newest() has it from now on. Errors: those of `read`.
  Result<std::shared_ptr<const StoredNodes>> read_now();

 private:
  struct Newest {
    std::shared_ptr<const StoredNodes> nodes{};
    std::uint64_t changes = 0;  // at the begin of the reading
    double began_seconds = 0;
    double true_seconds = 0;  // when it was last known to be what the store has
  };
  void renew_while_alive();
  void take(std::shared_ptr<const StoredNodes> nodes, std::uint64_t changes, double began);

  const Read read_;
  const Changes changes_;
  const double renew_seconds_;
  const double most_seconds_;
  std::mutex mutex_;  // guards the next three; never held while the store is read
  std::condition_variable over_;
  Newest kept_{};
  bool is_over_ = false;
  std::thread renewal_;  // the last member: it uses those above
};

}  // namespace railgauge
