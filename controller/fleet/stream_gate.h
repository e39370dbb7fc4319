// Bounds how many streams of agents are open, so that the streams of one peer do not keep another
// agent out. Thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "controller/fleet/auth.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

struct StreamBounds {
  std::size_t all = 20'000;
  // One certificate's identity: an agent that reconnects has two for a moment.
  std::size_t certificate = 2;
  // One source without certificates, before their Hello. A simulated fleet attaches from one.
  std::size_t unattached = 12'000;
};

// Counts streams by their peer, from admit() to release().
class StreamGate {
 public:
  explicit StreamGate(StreamBounds bounds) : bounds_(bounds) {}

  // The place of one stream. A stream that was not admitted has none.
  struct Place {
    std::string peer{};
    bool is_admitted = false;
    bool is_counted = false;  // by its peer
  };
  // kResourceExhausted: a bound is reached, and the stream has to be refused before it is read.
  Result<Place> admit(const auth::Peer& peer);
  // The stream's Hello was accepted: without a certificate its source counts it no longer.
  void attached(const auth::Peer& peer, Place& place);
  // The stream ended. Calling it twice is calling it once.
  void release(Place& place);

  [[nodiscard]] std::size_t open() const;

 private:
  void uncount(Place& place);

  const StreamBounds bounds_;
  mutable std::mutex mutex_;
  std::size_t open_ = 0;
  std::map<std::string, std::size_t> by_peer_;
};

// The key of a peer for bounds and quotas: the certificate's identity, else the address without its
// port.
std::string peer_key(const auth::Peer& peer);

}  // namespace railgauge::fleet
