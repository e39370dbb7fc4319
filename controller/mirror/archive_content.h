// Content in the archive, as of matrices and certificates: rows refer to it by its digest, also
// rows of several sites. It goes once no row refers to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/mirror/copy_rows.h"
#include "controller/mirror/pq/connection.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

// A writer may count on content so long after it asked for it, without asking again. Seconds.
inline constexpr double kContentHeldSeconds = 3'600;

// Two digits a byte.
std::string hex_of(std::string_view bytes);
// How many parts of each the archive has, by its digest in hexadecimal; none: it is left out. The
// content is marked as used now.
Result<std::map<std::string, std::size_t>> claim_content(pq::Connection& archive,
                                                         const std::vector<BlobRef>& blobs);
// Deletes the pair matrices and levels of parts of a site whose run was created before `oldest`, in
// seconds since 1970.
Status drop_old_matrices(pq::Connection& archive, std::int64_t site, double oldest);
// Deletes content that no row refers to and that nobody used for a day, which is more than
// kContentHeldSeconds: some thousand parts a call, in at most 30 s.
Status drop_unused_content(pq::Connection& archive);

}  // namespace railgauge::mirror
