#include "controller/mirror/archive_content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/outbox/mirror_tables.h"

namespace railgauge::mirror {
namespace {

// Runs a script as one transaction that gives up after half a minute.
Status in_transaction(pq::Connection& archive, const std::string& script) {
  const auto done =
      archive.script("BEGIN; SET LOCAL statement_timeout='30s'; " + script + "; COMMIT");
  if (done) return {};
  static_cast<void>(archive.execute("ROLLBACK"));
  return tl::make_unexpected(done.error());
}

}  // namespace

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

// One query for all of them: after a restart a walk asks for each of its matrices. Rows are locked
// in one order, since two sites may have the same content.
Result<std::map<std::string, std::size_t>> claim_content(pq::Connection& archive,
                                                         const std::vector<BlobRef>& blobs) {
  std::vector<std::string> digests;
  for (const BlobRef& blob : blobs) digests.push_back("\"\\\\x" + hex_of(blob.digest) + "\"");
  const pq::Answer there = RG_TRY(archive.query(
      "WITH mine AS (SELECT digest, part FROM railgauge.blob WHERE digest=ANY($1::bytea[]) "
      "ORDER BY digest, part FOR UPDATE), used AS (UPDATE railgauge.blob b SET used_at=now() FROM "
      "mine WHERE b.digest=mine.digest AND b.part=mine.part RETURNING b.digest) "
      "SELECT encode(digest, 'hex'), count(*) FROM used GROUP BY digest",
      {fmt::format("{{{}}}", fmt::join(digests, ","))}));
  std::map<std::string, std::size_t> present;
  for (int row = 0; row < there.rows(); ++row)
    present.emplace(there.text(row, 0), static_cast<std::size_t>(there.integer(row, 1)));
  return present;
}

Status drop_old_matrices(pq::Connection& archive, std::int64_t site, double oldest) {
  const std::string of_old_runs = fmt::format(
      "run IN (SELECT id FROM railgauge.run WHERE site={} AND created_at<to_timestamp({:.3f}))",
      site, oldest);
  return in_transaction(
      archive,
      fmt::format("DELETE FROM railgauge.pair_outlier WHERE site={0} AND matrix IN (SELECT id FROM "
                  "railgauge.pair_matrix WHERE site={0} AND {1}); DELETE FROM "
                  "railgauge.pair_matrix WHERE site={0} AND {1}; DELETE FROM railgauge.part_levels "
                  "WHERE site={0} AND {1}",
                  site, of_old_runs));
}

// A writer that claims a part meanwhile holds its row's lock, or has moved its time: it is left.
Status drop_unused_content(pq::Connection& archive) {
  std::string is_unused = "b.used_at<now() - interval '1 day'";
  for (const store::MirrorTable& table : store::mirror_tables())
    for (const store::MirrorColumn& column : table.columns)
      if (column.kind == store::MirrorKind::kBlob)
        is_unused += fmt::format(
            " AND NOT EXISTS (SELECT 1 FROM railgauge.\"{}\" r WHERE r.\"{}\"=b.digest)",
            table.name, column_name(column));
  return in_transaction(
      archive, fmt::format("DELETE FROM railgauge.blob WHERE (digest, part) IN (SELECT digest, "
                           "part FROM railgauge.blob b WHERE {} ORDER BY digest, part LIMIT 5000 "
                           "FOR UPDATE SKIP LOCKED)",
                           is_unused));
}

}  // namespace railgauge::mirror
