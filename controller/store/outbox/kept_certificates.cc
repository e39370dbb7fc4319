#include "controller/store/outbox/kept_certificates.h"

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {

// The bytes are kept as they were made: a digest of them is in the document.
Status write_certificate(Connection& connection, std::string_view subject, double made_at,
                         std::string_view digest, std::string_view text) {
  return connection.execute(
      "INSERT INTO certificate (subject, made_at, digest, body) VALUES (?1, ?2, ?3, ?4) ON "
      "CONFLICT (subject) DO UPDATE SET made_at=excluded.made_at, digest=excluded.digest, "
      "body=excluded.body",
      subject, made_at, digest, Blob{text});
}

// Older runs have none: what their certificate rests on may have been pruned.
Result<std::vector<std::string>> read_uncertified(Connection& connection, double since,
                                                  std::uint32_t limit) {
  return connection.column<std::string>(
      "SELECT * FROM (SELECT run_id FROM run WHERE state='ended' AND judged_at>=?1 AND NOT EXISTS "
      "(SELECT 1 FROM certificate WHERE subject=run_id) ORDER BY id DESC LIMIT ?2) UNION ALL "
      "SELECT "
      "* FROM (SELECT upgrade_id FROM upgrade WHERE state='judged' AND judged_at>=?1 AND NOT "
      "EXISTS "
      "(SELECT 1 FROM certificate WHERE subject=upgrade_id) ORDER BY id DESC LIMIT ?2)",
      since, limit);
}

}  // namespace railgauge::store
