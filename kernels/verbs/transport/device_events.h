// Events that an adapter reports beside completions: a device that is removed, a port that goes
// down, a broken queue pair. Without them a loss shows only in waits that end at their limits.
#pragma once

#include <cstdint>
#include <string>

struct ibv_context;

namespace railgauge::verbs {

// Those of one open device. Not thread safe: the only reader of the device's events.
class DeviceEvents {
 public:
  DeviceEvents() = default;
  // Watches `context`, which outlives this object; `device` is its name, `port` the port in use.
  void watch(ibv_context* context, std::string device, std::uint8_t port);

  // Takes the events that are there, and waits at most `wait_ms` for the first. True from the first
  // of those on that end every measurement; events of other kinds and ports are only taken. False
  // where nothing is watched. A system call.
  [[nodiscard]] bool is_lost(int wait_ms = 0);
  // "mlx5_0: device removed or in a fatal state (IBV_EVENT_DEVICE_FATAL)"; "" unless is_lost().
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  // Takes one event. False: there is none.
  bool take();

  ibv_context* context_ = nullptr;
  std::string device_;
  std::uint8_t port_ = 0;
  std::string words_;
};

}  // namespace railgauge::verbs
