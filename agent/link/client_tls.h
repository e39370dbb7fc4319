// The agent's side of mutual TLS: certificate, key and authorities, read again when the files
// change. A set of files that does not fit together changes nothing: the next connection uses the
// last one that did. Thread safe; reads files on the caller's thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "controller/trust/pem_files.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

class ClientTls {
 public:
  // Empty paths: TLS is not used, and nothing below does anything.
  explicit ClientTls(trust::PemFiles files) : files_(std::move(files)) {}

  // The files as they are now, or those that fitted last. An error only where none ever did.
  Result<trust::Material> newest();

  // Times are unix seconds.
  struct State {
    double until_unix = 0;
    double authority_until_unix = 0;
    std::uint64_t failures = 0;  // new faults so far
    std::string news{};          // a line for the log: a new certificate, a fault; "": none
    bool is_fault = false;       // of the line
    bool is_usable = false;      // the times are known
  };
  // Looks whether the files changed, and reads them if so or if `asked`.
  State look(bool asked);

  // A line for the log once a day while the certificate ends within kSoonDays; "" otherwise.
  std::string warning(double now_unix);
  static constexpr double kSoonDays = 14;

 private:
  Status read();  // with mutex_ held

  const trust::PemFiles files_;
  std::mutex mutex_;  // guards all below
  std::string stamp_;
  std::string fault_;
  std::string shown_;  // the serial number that look() reported last
  std::uint64_t failures_ = 0;
  std::optional<trust::Material> held_;
  double warned_unix_ = 0;
};

}  // namespace railgauge::agent
