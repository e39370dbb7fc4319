// Counts the calls under way of each connection. Thread safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace railgauge::rpc {

class ConnectionCalls {
 public:
  // A connection is one program: the CLI has 2 calls under way at most, an agent one stream.
  static constexpr std::uint32_t kMaxCalls = 8;

  // A counted call; its end frees the place. The counter outlives it.
  class Place {
   public:
    Place() = default;  // of a call that is not counted
    Place(ConnectionCalls* calls, std::string connection)
        : calls_(calls), connection_(std::move(connection)) {}
    Place(Place&& other) noexcept
        : calls_(std::exchange(other.calls_, nullptr)), connection_(std::move(other.connection_)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(calls_, other.calls_);
      std::swap(connection_, other.connection_);
      return *this;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { release(); }
    // Frees the place before the end of its life. Idempotent.
    void release() {
      if (calls_ != nullptr) std::exchange(calls_, nullptr)->free(connection_);
    }

   private:
    ConnectionCalls* calls_ = nullptr;
    std::string connection_{};
  };

  // Absent: the connection has kMaxCalls calls under way.
  std::optional<Place> take(const std::string& connection) {
    const std::lock_guard lock(mutex_);
    std::uint32_t& count = counts_[connection];
    if (count >= kMaxCalls) return std::nullopt;
    ++count;
    return std::optional<Place>(std::in_place, this, connection);
  }
  // Connections with calls under way.
  [[nodiscard]] std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return counts_.size();
  }

 private:
  void free(const std::string& connection) {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(connection);
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> counts_;  // by connection; never 0
};

}  // namespace railgauge::rpc
