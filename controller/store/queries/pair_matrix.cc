#include "controller/store/queries/pair_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/sqlite/compress.h"
#include "controller/store/sqlite/framed_blob.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/text/lines.h"

namespace railgauge::store {
namespace {

static_assert(std::endian::native == std::endian::little);  // as the blob is

// A port and itself are no pair of the fabric: loopback is never in its matrix.
Status check_diagonal(const PairMatrixRow& matrix) {
  const std::size_t count = matrix.endpoints.size();
  for (std::size_t i = 0; i < count; ++i)
    if (!std::isnan(matrix.values[i * count + i]))
      return fail(Code::kInvalidArgument,
                  fmt::format("pair matrix of {}: {} to itself is loopback and no pair",
                              matrix.run_id, matrix.endpoints[i]));
  return {};
}

Status check(const PairMatrixRow& matrix) {
  const std::size_t count = matrix.endpoints.size();
  bool inside = true;
  for (const auto& pair : matrix.outliers) inside = inside && pair.from < count && pair.to < count;
  if (count > 0 && count <= kMaxMatrixEndpoints && matrix.values.size() == count * count && inside)
    return check_diagonal(matrix);
  return fail(Code::kInvalidArgument,
              fmt::format("pair matrix of {}: {} values and {} outliers do not fit {} endpoints, "
                          "of which 1 to {} are allowed",
                          matrix.run_id, matrix.values.size(), matrix.outliers.size(), count,
                          kMaxMatrixEndpoints));
}

std::vector<std::string> endpoints_in(std::string_view text) {
  if (text.empty()) return {};
  const auto lines = lines_of(text);
  return {lines.begin(), lines.end()};
}

// Outliers of the matrix that was read last: they are adjacent.
struct EndpointNames {
  std::int64_t matrix = 0;
  std::vector<std::string> names{};
};

void name_endpoint(sqlite3_context* context, int, sqlite3_value** values) {
  auto& known = *static_cast<EndpointNames*>(sqlite3_user_data(context));
  if (const std::int64_t matrix = sqlite3_value_int64(values[0]); matrix != known.matrix) {
    const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values[1]));
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(values[1]));
    known = {matrix, endpoints_in(decompress({bytes, bytes == nullptr ? 0 : size}).value_or(""))};
  }
  const auto index = static_cast<std::uint64_t>(sqlite3_value_int64(values[2]));
  if (index >= known.names.size()) return sqlite3_result_null(context);
  const std::string& name = known.names[index];
  sqlite3_result_text(context, name.data(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
}

constexpr std::string_view kHeadColumns =
    "SELECT rail, kernel, metric, meaning, message_bytes, unit, larger_is_better";
using Row = PairMatrixRow;
constexpr Columns kHead{&Row::rail,          &Row::kernel, &Row::metric,          &Row::meaning,
                        &Row::message_bytes, &Row::unit,   &Row::larger_is_better};

tl::unexpected<Error> damaged(const PairMatrixKey& key) {
  return fail(
      Code::kDataLoss,
      fmt::format("run {}: the stored pair matrix is damaged; restore a backup", key.run_id));
}

// The stored body. Rows of a matrix with an overview can be read without the rest.
std::string body_of(const PairMatrixRow& matrix) {
  const std::string_view values(reinterpret_cast<const char*>(matrix.values.data()),
                                matrix.values.size() * sizeof(float));
  if (matrix.overview.empty()) return compress_blocks(values);
  return framed_body(matrix.overview, values,
                     kRowsOfFrame * matrix.endpoints.size() * sizeof(float));
}

constexpr std::string_view kOfKey =
    "FROM run JOIN pair_matrix ON pair_matrix.run=run.id WHERE run_id=?1 AND (?2 IS NULL OR "
    "rail=?2) AND (?3='' OR metric=?3) AND (?4 IS NULL OR message_bytes=?4) AND (?5='' OR "
    "kernel=?5) AND (?6 IS NULL OR meaning=?6) ORDER BY pair_matrix.id LIMIT 1";

tl::unexpected<Error> no_matrix(const PairMatrixKey& key) {
  return fail(Code::kNotFound, fmt::format("run {}: no such pair matrix is stored", key.run_id));
}

// The body of a matrix with an overview, and the number of its endpoints.
struct Framed {
  FramedBlob body;
  std::size_t count = 0;
};

Result<Framed> open_framed(Connection& connection, const PairMatrixKey& key) {
  std::int64_t id = 0;
  std::size_t count = 0;
  const bool is_there = RG_TRY(connection.row(
      std::tie(id, count), fmt::format("SELECT pair_matrix.id, endpoint_count {}", kOfKey),
      key.run_id, key.rail, key.metric, key.message_bytes, key.kernel, key.meaning));
  if (!is_there) return no_matrix(key);
  auto body = FramedBlob::open(connection, "pair_matrix", "body", id);
  if (!body && body.error().code == Code::kDataLoss) return damaged(key);
  if (!body) return tl::unexpected(body.error());
  if (count == 0 || body->frames() != (count + kRowsOfFrame - 1) / kRowsOfFrame)
    return damaged(key);
  return Framed{std::move(*body), count};
}

}  // namespace

Result<std::string> read_matrix_overview(Connection& connection, const PairMatrixKey& key) {
  return RG_TRY(open_framed(connection, key)).body.head();
}

Result<std::vector<float>> read_matrix_block(Connection& connection, const PairMatrixKey& key,
                                             const MatrixBlock& block) {
  const Framed matrix = RG_TRY(open_framed(connection, key));
  const auto fits = [&](std::size_t first, std::size_t size) {
    return first <= matrix.count && size <= matrix.count - first;
  };
  if (!fits(block.row, block.rows) || !fits(block.column, block.columns))
    return fail(Code::kInvalidArgument,
                fmt::format("run {}: its pair matrix has {} rows", key.run_id, matrix.count));
  std::vector<float> values(block.rows * block.columns);
  const std::size_t row_bytes = matrix.count * sizeof(float);
  std::string frame;
  for (std::size_t i = 0, loaded = matrix.body.frames(); i < block.rows; ++i) {
    const std::size_t row = block.row + i;
    if (row / kRowsOfFrame != loaded) {
      loaded = row / kRowsOfFrame;
      auto read = matrix.body.frame(loaded);
      if (!read) return damaged(key);
      frame = std::move(*read);
    }
    const std::size_t offset = row % kRowsOfFrame * row_bytes;
    if (frame.size() < offset + row_bytes) return damaged(key);
    std::memcpy(values.data() + i * block.columns,
                frame.data() + offset + block.column * sizeof(float),
                block.columns * sizeof(float));
  }
  return values;
}

Status add_matrix_endpoint(Connection& connection) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
  const int code = sqlite3_create_function_v2(
      connection.raw(), "matrix_endpoint", 3, kFlags, new EndpointNames, name_endpoint, nullptr,
      nullptr, [](void* names) { delete static_cast<EndpointNames*>(names); });
  if (code != SQLITE_OK) return tl::unexpected(connection.error("add a function"));
  return {};
}

Status write_pair_matrix(Connection& connection, const PairMatrixRow& matrix) {
  RG_TRY_OK(check(matrix));
  const auto run = RG_TRY(connection.integer("SELECT id FROM run WHERE run_id=?1", matrix.run_id));
  if (!run)
    return fail(Code::kNotFound,
                fmt::format("pair matrix of {}: there is no such run", matrix.run_id));
  RG_TRY_OK(connection.execute(
      "DELETE FROM pair_matrix WHERE run=?1 AND rail=?2 AND kernel=?3 AND metric=?4 AND meaning=?5 "
      "AND message_bytes=?6",
      *run, matrix.rail, matrix.kernel, matrix.metric, matrix.meaning, matrix.message_bytes));
  const std::string endpoints = compress(fmt::format("{}", fmt::join(matrix.endpoints, "\n")));
  const std::string body = body_of(matrix);
  RG_TRY_OK(connection.execute(
      "INSERT INTO pair_matrix (run, rail, kernel, metric, meaning, message_bytes, unit, "
      "larger_is_better, endpoint_count, endpoints, body) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      *run, matrix.rail, matrix.kernel, matrix.metric, matrix.meaning, matrix.message_bytes,
      matrix.unit, matrix.larger_is_better, matrix.endpoints.size(), Blob{endpoints}, Blob{body}));
  const std::int64_t id = connection.last_id();
  for (const auto& pair : matrix.outliers)
    RG_TRY_OK(connection.execute(
        "INSERT INTO pair_outlier (matrix, from_index, to_index, value, expected) "
        "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        id, pair.from, pair.to, pair.value, pair.expected));
  return {};
}

Status write_pair_matrices(Connection& connection, std::string_view run_id,
                           const std::vector<PairMatrixRow>& matrices) {
  const auto run = RG_TRY(connection.integer("SELECT id FROM run WHERE run_id=?1", run_id));
  if (!run)
    return fail(Code::kNotFound, fmt::format("pair matrices of {}: there is no such run", run_id));
  RG_TRY_OK(connection.execute("DELETE FROM pair_matrix WHERE run=?1", *run));
  for (const PairMatrixRow& matrix : matrices) {
    if (matrix.run_id != run_id)
      return fail(Code::kInvalidArgument,
                  fmt::format("pair matrices of {}: one is of run {}", run_id, matrix.run_id));
    RG_TRY_OK(write_pair_matrix(connection, matrix));
  }
  return {};
}

namespace {

// A matrix as it is stored.
struct Stored {
  PairMatrixRow matrix{};  // without values and outliers
  std::int64_t id = 0;
  std::string body{};

  [[nodiscard]] std::size_t bytes() const {
    return matrix.endpoints.size() * matrix.endpoints.size() * sizeof(float);
  }
};

Result<Stored> read_stored(Connection& connection, const PairMatrixKey& key) {
  Stored stored{.matrix = {.run_id = key.run_id}};
  std::string endpoints;
  {
    Rows rows = RG_TRY(connection.query(
        fmt::format("{}, pair_matrix.id, endpoints, body {}", kHeadColumns, kOfKey), key.run_id,
        key.rail, key.metric, key.message_bytes, key.kernel, key.meaning));
    if (!RG_TRY(rows.next())) return no_matrix(key);
    kHead.read(rows, stored.matrix);
    stored.id = rows.integer(7);
    endpoints = rows.blob(8);
    stored.body = rows.blob(9);
  }
  stored.matrix.endpoints = endpoints_in(RG_TRY(decompress(endpoints)));
  if (stored.matrix.endpoints.size() > kMaxMatrixEndpoints) return damaged(key);
  return stored;
}

}  // namespace

Result<PairMatrixRow> read_pair_matrix(Connection& connection, const PairMatrixKey& key) {
  Stored stored = RG_TRY(read_stored(connection, key));
  PairMatrixRow& matrix = stored.matrix;
  matrix.values.resize(stored.bytes() / sizeof(float));
  auto* to = reinterpret_cast<char*>(matrix.values.data());
  const Status read = decompress_blocks(stored.body, stored.bytes(), [&to](std::string_view block) {
    std::memcpy(to, block.data(), block.size());
    to += block.size();
  });
  if (!read) return damaged(key);
  using Outlier = PairMatrixRow::Outlier;
  matrix.outliers = RG_TRY(connection.list(
      Columns{&Outlier::from, &Outlier::to, &Outlier::value, &Outlier::expected},
      "SELECT from_index, to_index, value, expected FROM pair_outlier WHERE matrix=?1", stored.id));
  return std::move(matrix);
}

Status visit_pair_matrix(Connection& connection, const PairMatrixKey& key,
                         const PairVisitor& visit) {
  const Stored stored = RG_TRY(read_stored(connection, key));
  const std::size_t count = stored.matrix.endpoints.size();
  std::size_t at = 0;
  bool whole = true;
  const Status read = decompress_blocks(stored.body, stored.bytes(), [&](std::string_view block) {
    whole = whole && block.size() % sizeof(float) == 0;
    for (std::size_t i = 0; whole && i < block.size(); i += sizeof(float), ++at) {
      float value = 0;
      std::memcpy(&value, block.data() + i, sizeof value);
      if (std::isfinite(value)) visit(stored.matrix, at / count, at % count, value);
    }
  });
  if (!read || !whole) return damaged(key);
  return {};
}

Result<std::vector<PairMatrixRow>> list_pair_matrices(Connection& connection,
                                                      std::string_view run_id) {
  std::vector<PairMatrixRow> matrices = RG_TRY(connection.list(
      kHead,
      fmt::format("{} FROM run JOIN pair_matrix ON pair_matrix.run=run.id WHERE run_id=?1 ORDER BY "
                  "pair_matrix.id",
                  kHeadColumns),
      run_id));
  for (PairMatrixRow& matrix : matrices) matrix.run_id = run_id;
  return matrices;
}

Status write_part_levels(Connection& connection, std::string_view run_id,
                         const std::vector<PartLevelsRow>& levels) {
  const auto run = RG_TRY(connection.integer("SELECT id FROM run WHERE run_id=?1", run_id));
  if (!run)
    return fail(Code::kNotFound, fmt::format("part levels of {}: there is no such run", run_id));
  RG_TRY_OK(connection.execute("DELETE FROM part_levels WHERE run=?1", *run));
  for (const PartLevelsRow& row : levels) {
    const std::string body = compress(row.body);
    RG_TRY_OK(connection.execute(
        "INSERT INTO part_levels (run, kernel, metric, meaning, message_bytes, node_count, body) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        *run, row.kernel, row.metric, row.meaning, row.message_bytes, row.nodes, Blob{body}));
  }
  return {};
}

namespace {

// The rest of a query for run, time of its creation, count of nodes and levels, oldest first. A
// damaged row of the run that is asked for is an error, one of another run is left out.
Result<std::vector<PartLevelsRow>> levels_in(Rows rows, const PartLevelsRow& key) {
  std::vector<PartLevelsRow> found;
  while (RG_TRY(rows.next())) {
    PartLevelsRow row = key;
    row.run_id = rows.text(0);
    row.created_at = rows.real(1);
    row.nodes = rows.small(2);
    auto body = decompress(rows.blob(3));
    if (!body && row.run_id == key.run_id)
      return fail(Code::kDataLoss,
                  fmt::format("run {}: the stored levels of its parts are damaged; "
                              "restore a backup",
                              key.run_id));
    if (!body) continue;
    row.body = std::move(*body);
    found.push_back(std::move(row));
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace

Result<std::vector<PartLevelsRow>> read_part_levels(Connection& connection,
                                                    const PartLevelsRow& key, std::uint32_t limit) {
  Rows rows = RG_TRY(connection.query(
      "SELECT run.run_id, run.created_at, one.node_count, one.body FROM run AS own JOIN "
      "part_levels "
      "AS mine ON mine.run=own.id AND mine.kernel=?2 AND mine.metric=?3 AND mine.meaning=?4 AND "
      "mine.message_bytes=?5 JOIN part_levels AS one ON one.kernel=?2 AND one.metric=?3 AND "
      "one.meaning=?4 AND one.message_bytes=?5 AND one.run<=own.id AND one.node_count BETWEEN "
      "(mine.node_count + 1) / 2 AND 2 * mine.node_count JOIN run ON run.id=one.run AND "
      "run.suite=own.suite WHERE own.run_id=?1 ORDER BY one.run DESC LIMIT ?6",
      key.run_id, key.kernel, key.metric, key.meaning, key.message_bytes, limit));
  return levels_in(std::move(rows), key);
}

Result<std::vector<PartLevelsRow>> read_earlier_part_levels(Connection& connection,
                                                            const PartLevelsRow& key,
                                                            std::uint32_t limit) {
  Rows rows = RG_TRY(connection.query(
      "SELECT run_id, created_at, node_count, body FROM (SELECT run.run_id, run.created_at, "
      "one.node_count, one.body, one.run AS number FROM run AS own JOIN part_levels AS one ON "
      "one.kernel=?2 AND one.metric=?3 AND one.meaning=?4 AND one.message_bytes=?5 AND "
      "one.run<own.id JOIN run ON run.id=one.run AND run.trigger<>'prove' WHERE own.run_id=?1 "
      "ORDER BY run.trigger='schedule' DESC, one.run DESC LIMIT ?6) ORDER BY number DESC",
      key.run_id, key.kernel, key.metric, key.meaning, key.message_bytes, limit));
  return levels_in(std::move(rows), key);
}

}  // namespace railgauge::store
