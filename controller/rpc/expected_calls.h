// Calls of which one program knows whether the services have seen them, although it may get no
// answer: those that the console makes for its visitors. Thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <string>

namespace railgauge::rpc {

class ExpectedCalls {
 public:
  // Calls that were given up and may come late; beyond these the oldest are forgotten.
  static constexpr std::size_t kMostGivenUp = 1'024;

  // A call by this name, which is never used again, is about to be made.
  void expect(const std::string& name);
  // The call is there; false: it was given up. True for names that nobody expects.
  bool begin(const std::string& name);
  // Whether the call has begun. One that has not is given up.
  bool has_begun(const std::string& name);

 private:
  std::mutex mutex_;
  std::set<std::string> expected_;  // not begun
  std::set<std::string> given_up_;
  std::deque<std::string> order_;  // of given_up_, the oldest first
};

}  // namespace railgauge::rpc
