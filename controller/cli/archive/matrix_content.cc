#include "controller/cli/archive/matrix_content.h"

#include <zstd.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace railgauge::cli {
namespace {

// The bound of a whole matrix: a damaged head must not ask for more memory.
constexpr std::size_t kMaxBytes = 1U << 30U;

tl::unexpected<Error> damaged() {
  return fail(Code::kDataLoss, "archive: the content of the matrix is damaged");
}

// All frames, one behind the other.
Result<std::string> expanded(std::string_view bytes) {
  std::string all;
  while (!bytes.empty()) {
    const std::size_t frame = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(frame) != 0) return damaged();
    const auto size = ZSTD_getFrameContentSize(bytes.data(), frame);
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN ||
        size > kMaxBytes - all.size())
      return damaged();
    const std::size_t begin = all.size();
    all.resize(begin + size);
    if (ZSTD_decompress(all.data() + begin, size, bytes.data(), frame) != size) return damaged();
    bytes.remove_prefix(frame);
  }
  return all;
}

// The last line may lack its end.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Names of nodes, unless a node has several of the endpoints.
std::vector<std::string> names_of(const std::vector<std::string>& endpoints) {
  std::vector<std::string> nodes;
  for (const std::string& endpoint : endpoints)
    nodes.push_back(endpoint.substr(0, endpoint.find('/')));
  const std::set<std::string> different(nodes.begin(), nodes.end());
  return different.size() == nodes.size() ? nodes : endpoints;
}

}  // namespace

Status fill_matrix(api::PairMatrix& matrix, std::string_view endpoints, std::string_view body) {
  const std::vector<std::string> names = names_of(lines_of(RG_TRY(expanded(endpoints))));
  const std::string bytes = RG_TRY(expanded(body));
  if (bytes.size() != names.size() * names.size() * sizeof(float)) return damaged();
  for (const std::string& name : names) {
    matrix.add_nodes(name);
    matrix.add_leaves("");
  }
  std::vector<float> values(names.size() * names.size());
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  for (const float value : values) matrix.add_values(std::isnan(value) ? 0 : value);
  matrix.set_schema_version(1);
  return {};
}

}  // namespace railgauge::cli
