// Rows of the store in the binary form of PostgreSQL's COPY, and the types of their columns. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/store/outbox/mirror_outbox.h"
#include "controller/store/outbox/mirror_tables.h"

namespace railgauge::mirror {

// The name and type of a column there: "measured_at" and "timestamptz" of a point's "measured_ms".
std::string column_name(const store::MirrorColumn& column);
std::string_view column_type(const store::MirrorTable& table, const store::MirrorColumn& column);

// A blob that rows refer to.
struct BlobRef {
  std::string digest;      // SHA-256, 32 bytes
  std::string_view bytes;  // as long as the rows
};

// The rows as one COPY; `blobs` gets the content that they refer to. Text that is no UTF-8 gets "?"
// for each such byte, a time outside the years 1970 to 9999 the nearest one inside.
std::string copy_of(const store::MirrorRows& rows, std::vector<BlobRef>& blobs);

// A piece of a blob, and how many pieces it has: at least one.
inline constexpr std::size_t kBlobPartBytes = 8U << 20U;
struct BlobPart {
  const BlobRef* blob = nullptr;
  std::size_t part = 0;
};
std::size_t parts_of(const BlobRef& blob);
// Parts as rows (digest bytea, part integer, body bytea) of one COPY.
std::string copy_of_blobs(const std::vector<BlobPart>& parts);

}  // namespace railgauge::mirror
