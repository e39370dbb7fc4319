// The threads of a bandwidth measurement: one a stream and direction, each in a loop of whole
// messages. They run until stopped, and are joined before their streams go.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "kernels/memory/host_buffer.h"
#include "kernels/net/pattern.h"
#include "kernels/net/pipe.h"

namespace railgauge::net {

// The result of one thread; the owner reads it after the join, except `failed`.
struct Work {
  std::uint64_t bytes = 0;
  double cpu_ns = 0;
  std::atomic<bool> failed{false};
};

// Sends one pattern over and over on each stream.
class Senders {
 public:
  // Everything outlives it. `stop` of the limits does not stop them: stop() does.
  static Result<std::unique_ptr<Senders>> start(std::span<Pipe> pipes, std::uint64_t message_bytes,
                                                std::size_t size_index, std::uint32_t rank);
  ~Senders() { stop(); }
  Senders(const Senders&) = delete;
  Senders& operator=(const Senders&) = delete;

  // Each ends with its message; joins.
  void stop();
  // The first stream whose thread ended by a failure; that one's pipe may be asked for it.
  [[nodiscard]] std::optional<std::size_t> failed_stream() const;
  [[nodiscard]] const std::vector<std::unique_ptr<Work>>& work() const { return work_; }

 private:
  Senders() = default;
  void run(Pipe& pipe, std::span<const std::byte> message, Work& work);

  std::vector<HostBuffer> messages_;
  std::vector<std::unique_ptr<Work>> work_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// Receives each stream's bytes into a buffer of one message, over and over, so that the last
// message is there in the end.
class Receivers {
 public:
  static Result<std::unique_ptr<Receivers>> start(std::span<Pipe> pipes,
                                                  std::uint64_t message_bytes);
  ~Receivers() { give_up(); }
  Receivers(const Receivers&) = delete;
  Receivers& operator=(const Receivers&) = delete;

  // Waits until each stream has brought as many bytes as the other side sent; joins. kInternal
  // where it brought others.
  Status finish(std::span<const std::uint64_t> sent_bytes);
  // Compares the last message of each stream.
  [[nodiscard]] Status verify(std::size_t size_index, std::uint32_t from_rank,
                              const std::string& who) const;
  [[nodiscard]] std::optional<std::size_t> failed_stream() const;
  [[nodiscard]] const std::vector<std::unique_ptr<Work>>& work() const { return work_; }

 private:
  Receivers() = default;
  void give_up();
  void run(std::size_t number);

  std::span<Pipe> pipes_;
  std::uint64_t message_bytes_ = 0;
  std::vector<HostBuffer> messages_;
  std::vector<std::unique_ptr<Work>> work_;
  std::vector<std::uint64_t> expected_;
  std::atomic<bool> knows_expected_{false};
  std::vector<std::thread> threads_;
};

}  // namespace railgauge::net
