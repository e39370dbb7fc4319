// The first bytes of a TCP connection: a TLS ClientHello, or the preface of HTTP/2. A connection
// that has not sent them holds nothing of gRPC's. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace railgauge {

// The state of a connection by the bytes that have come so far.
enum class FirstBytes {
  kIncomplete,  // a true beginning; more has to come
  kComplete,    // whole; gRPC may have the connection
  kForeign,     // no beginning of this protocol, or one above the bound
};

// Bytes that are looked at. A ClientHello of a session with a client certificate has some 3 KiB.
inline constexpr std::size_t kMostFirstBytes = 16'384;

// Looks for a whole ClientHello, in one TLS record or spread over several (RFC 8446, 5.1). Reads
// the lengths only: gRPC's TLS library judges the content.
FirstBytes look_at_client_hello(std::span<const std::uint8_t> bytes);
// Looks for the connection preface of HTTP/2 (RFC 9113, 3.4).
FirstBytes look_at_preface(std::span<const std::uint8_t> bytes);

}  // namespace railgauge
