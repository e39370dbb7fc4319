// How often a node may change what the store keeps of it for good: each change of its stack begins
// an epoch, each one of a device adds a row. Pure; not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace railgauge::store {

// The changes of all nodes, in memory: a restart of the controller forgets them.
class NodeChanges {
 public:
  // A person who tries drivers changes a node a few times an hour; a stolen certificate may do so
  // with each Hello.
  static constexpr std::uint32_t kMostAnHour = 6;
  static constexpr std::uint32_t kMostADay = 24;

  struct Answer {
    bool may_store = true;
    bool is_first_left_out = false;     // since the last one that was stored
    std::uint32_t left_out_before = 0;  // with `may_store`: changes that were left out since then
  };
  // Asks for a node's name, and a hash of what it reports. The content that was stored last is no
  // change. The name counts and not the id: a certificate has one name, and may come with new ids.
  // `now`: seconds; a clock that steps back begins the hour and the day anew.
  Answer take(std::string_view node, std::int64_t content, double now);

 private:
  struct Window {
    double since = -1e18;
    std::uint32_t used = 0;
    void begin_at(double now, double seconds);
  };
  struct Node {
    std::int64_t content = 0;
    bool is_known = false;
    Window hour{};
    Window day{};
    std::uint32_t left_out = 0;
  };
  std::map<std::string, Node, std::less<>> nodes_;  // by name; as many as the store has
};

}  // namespace railgauge::store
