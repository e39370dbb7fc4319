// The index of an authority's folder: what was issued and revoked. The text is that of `openssl ca`
// (six fields by tabs), so that its command reads it too. Pure. Times are unix seconds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/trust/certificate.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

struct IndexEntry {
  std::string serial{};
  std::string file{};     // "n1.crt", or "unknown" in entries that openssl wrote
  std::string subject{};  // "/O=railgauge/OU=agent/CN=n1"
  double until_unix = 0;
  double revoked_unix = 0;  // 0: not revoked

  // The name for people: that of the file, else the last CN.
  [[nodiscard]] std::string name() const;
  // The subject's OU; "" without one.
  [[nodiscard]] std::string role() const;
};

// kDataLoss, with the line: a line that is none of the index.
Result<std::vector<IndexEntry>> parse_index(std::string_view text);
std::string index_text(const std::vector<IndexEntry>& entries, double now_unix);
// The entry of a certificate that was written to NAME.crt.
IndexEntry entry_of(const Certificate& certificate, const std::string& name);

}  // namespace railgauge::trust
