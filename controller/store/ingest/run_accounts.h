// The bytes that each node stored in each run, against a node whose every rank reports as much as a
// rank may. In memory: a restart of the controller, or a rollback, forgets them. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace railgauge::store {

class RunAccounts {
 public:
  // A node may store `bytes` in a run, and `rank_bytes` more for each of its ranks. A night of 512
  // nodes of 8 rails has some 800 ranks a node, and points of some 2 KB; a person's run with raw
  // samples some MB a rank.
  struct Bounds {
    std::int64_t bytes = 1 << 30;
    std::int64_t rank_bytes = 2 << 20;
  };
  static constexpr std::size_t kMostAccounts = 65'536;

  explicit RunAccounts(Bounds bounds) : bounds_(bounds) {}

  enum class Answer : std::uint8_t { kTaken, kRefused, kRefusedFirst };
  // A rank of the node began. Run and node are row ids, here and below.
  void add_rank(std::int64_t run, std::int64_t node);
  // Takes the bytes of one record, unless they are beyond the bound.
  Answer take(std::int64_t run, std::int64_t node, std::int64_t bytes);
  void forget() { accounts_.clear(); }

 private:
  struct Account {
    std::int64_t bytes = 0;
    std::int64_t ranks = 0;
    bool is_told = false;
  };
  Account& account_of(std::int64_t run, std::int64_t node);

  Bounds bounds_;
  std::map<std::pair<std::int64_t, std::int64_t>, Account> accounts_;  // those of old runs go first
};

}  // namespace railgauge::store
