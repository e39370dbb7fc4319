#include "controller/fleet/stream_gate.h"

#include <fmt/format.h>

namespace railgauge::fleet {

std::string peer_key(const auth::Peer& peer) {
  if (const std::string identity = auth::identity_of(peer); !identity.empty())
    return "certificate " + identity;
  // "ipv4:192.0.2.1:4711", "ipv6:[::1]:4711", "unix socket"
  const std::size_t colon = peer.address.rfind(':');
  return colon == std::string::npos ? peer.address : peer.address.substr(0, colon);
}

Result<StreamGate::Place> StreamGate::admit(const auth::Peer& peer) {
  const bool has_certificate = !auth::identity_of(peer).empty();
  const std::size_t most = has_certificate ? bounds_.certificate : bounds_.unattached;
  Place place{.peer = peer_key(peer)};
  const std::lock_guard lock(mutex_);
  const auto found = by_peer_.find(place.peer);
  if (found != by_peer_.end() && found->second >= most)
    return fail(Code::kResourceExhausted,
                fmt::format("{} has {} streams{}, its limit; end the other agents that use it",
                            place.peer, most, has_certificate ? "" : " without a Hello"));
  if (open_ >= bounds_.all)
    return fail(Code::kResourceExhausted,
                fmt::format("the controller holds {} agents' streams, its limit", bounds_.all));
  ++open_;
  ++by_peer_[place.peer];
  place.is_admitted = place.is_counted = true;
  return place;
}

void StreamGate::attached(const auth::Peer& peer, Place& place) {
  if (!auth::identity_of(peer).empty()) return;
  const std::lock_guard lock(mutex_);
  uncount(place);
}

void StreamGate::release(Place& place) {
  const std::lock_guard lock(mutex_);
  uncount(place);
  if (!place.is_admitted) return;
  place.is_admitted = false;
  --open_;
}

// With the lock held.
void StreamGate::uncount(Place& place) {
  if (!place.is_counted) return;
  place.is_counted = false;
  const auto found = by_peer_.find(place.peer);
  if (--found->second == 0) by_peer_.erase(found);
}

std::size_t StreamGate::open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

}  // namespace railgauge::fleet
