// Sends the messages of one target, one after the other: each until it is taken, refused for good
// or out of attempts, with growing pauses. Those that wait are in the store and survive a restart.
// A message may arrive twice, after a crash, and has the same id and bytes then.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/deliver/send.h"
#include "controller/metric/registry.h"
#include "controller/store/outbox/deliveries.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge::deliver {

// Stores an event of the controller: "delivery_late" at the first failure in a row,
// "delivery_failed" for each message that is given up, "delivery_dropped", "delivery_works".
using Note = std::function<void(std::string kind, std::string text)>;

// Thread safe.
class Courier {
 public:
  struct Options {
    std::string target{};              // "webhook"
    std::string where{};               // for people
    std::uint32_t most_attempts = 10;  // some 3.5 hours with the pauses below
    double first_pause_seconds = 2;    // each further one is three times as long
    double longest_pause_seconds = 3600;
    std::size_t most_waiting = 64;  // beyond, the oldest is dropped
  };
  // All arguments outlive the courier. It begins with what waits in the store.
  Courier(Options options, store::Store& store, Send send, metric::Registry& series, Note note);
  // Messages that wait stay in the store.
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // Queues a message. One whose id the target got, or that waits, is not sent again. Errors: those
  // of the store.
  Status put(const Letter& letter);
  // Ends the attempt under way; none begins any more.
  void begin_stop();
  [[nodiscard]] const std::string& target() const { return options_.target; }

 private:
  void work();
  void attempt(const store::DeliveryRow& delivery);
  void postpone(const store::DeliveryRow& delivery, const std::string& cause);
  void give_up(const store::DeliveryRow& delivery, const char* state, const std::string& cause);
  Status make_room();
  // Waits a while where a row could not be changed: the store is full, or broken.
  void check_stored(const Status& stored);
  void show_waiting();
  void count(const char* outcome, double more = 1);
  [[nodiscard]] bool is_ending() const;

  const Options options_;
  store::Store& store_;
  const Send send_;
  metric::Registry& series_;
  const Note note_;

  std::mutex putting_;  // held while a message is queued
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // with mutex_, which guards the next two
  bool ending_ = false;
  bool has_new_ = false;
  bool is_failing_ = false;  // on the thread only
  std::thread thread_;       // last: uses all above
};

// Ends what waits for targets that the settings no longer have, with an event for each such target.
void drop_of_gone_targets(store::Store& store, const std::vector<std::string>& targets,
                          const Note& note);

}  // namespace railgauge::deliver
