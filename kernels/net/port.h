// The rank's own end before it knows its peer: its interface, and a socket that listens there.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"
#include "kernels/net/netdev.h"

namespace railgauge::net {

struct SocketForm {
  std::uint64_t buffer_bytes = 0;  // of the socket; 0 leaves it to the kernel's tuning
  int traffic_class = 0;
  std::string congestion_control;  // "" takes the system's
};
SocketForm socket_form(const Params& params);

class Port {
 public:
  // Chooses the interface by the context's endpoint and parameters, and listens. Errors as choose()
  // has them; kFailedPrecondition, kPermissionDenied where the address or port cannot be taken.
  static Result<Port> open(const Context& context);

  [[nodiscard]] const Chosen& chosen() const { return chosen_; }
  [[nodiscard]] const NetdevFacts& facts() const { return facts_; }
  [[nodiscard]] const SocketForm& form() const { return form_; }
  [[nodiscard]] std::uint16_t number() const { return number_; }
  [[nodiscard]] const Fd& listener() const { return listener_; }
  void stop_listening() { listener_.reset(); }
  // "192.0.2.1 (eth0)".
  [[nodiscard]] std::string words() const;

  // A socket from this address to the peer's, connected within the deadline. `by_netdev`: packets
  // leave by this interface whatever the routes are, where the system permits it; `was_bound` is
  // the result.
  Result<Fd> connect_to(const std::string& address, std::uint16_t number, double deadline_ns,
                        bool by_netdev, bool& was_bound) const;

 private:
  Chosen chosen_;
  NetdevFacts facts_;
  SocketForm form_;
  std::uint16_t number_ = 0;
  Fd listener_;
};

}  // namespace railgauge::net
