// One site's connection to the archive: it claims the site, knows how far the archive is, and sends
// batches. Data and the mark of how far it goes are committed together, so that a crash anywhere
// loses nothing and doubles nothing. A later session of the site shuts this one out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/mirror/copy_rows.h"
#include "controller/mirror/pq/connection.h"
#include "controller/store/outbox/mirror_outbox.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

// The site and what its store says of itself.
struct SiteClaim {
  std::string name{};
  std::string store_id{};
  std::int64_t arming = 0;
  std::int64_t oldest = 0;  // rows of the outbox, both ends
  std::int64_t newest = 0;
  std::string start{};                       // token of this start of the controller
  std::vector<store::MirrorStart> starts{};  // earlier ones
  std::int64_t generation = 0;               // of the last link of this start; 0: there was none
  bool is_synthetic = false;                 // the database is of a modelled fleet
  double keep_days = 0;                      // of points in the archive; 0: for ever
  // For a site with several controllers: the generation of the lease, without which nothing is
  // written. Changes are then noted for standbys. 0: there is no lease.
  std::int64_t lease = 0;
};

// Where the archive is.
struct SitePlace {
  std::int64_t outbox_through = 0;
  std::map<std::string, std::int64_t, std::less<>> walks{};  // tables under way: the last key
  std::set<std::string, std::less<>> walked{};               // tables that are whole
};

// Not thread safe. After an error, open another one.
class SiteLink {
 public:
  // Makes the schema where it is absent, and claims the site. kFailedPrecondition: the name belongs
  // to another database, the archive is ahead of this one, since a backup was restored, or another
  // controller has claimed the site since this start's last link.
  static Result<std::unique_ptr<SiteLink>> open(pq::ConnectOptions options, const SiteClaim& claim);

  [[nodiscard]] const SitePlace& place() const { return place_; }
  // The next claim of this start has to name it.
  [[nodiscard]] std::int64_t generation() const { return generation_; }
  // Sends rows of the outbox, which had rows up to `newest` after they were read. `even_at`: the
  // time at which the archive then has all, 0: it has not. kFailedPrecondition: another session
  // claimed the site.
  Status send(const store::MirrorBatch& batch, std::int64_t newest, double even_at, double now);
  // Sends rows of a walk over one table; `is_last`: nothing is behind them.
  Status send_walk(std::size_t table, const store::MirrorBatch& batch, std::int64_t newest,
                   bool is_last, double now);
  // Makes the partitions of this month and the next one, so that no point waits for its table.
  Status make_months_ahead(double now);
  // Drops months of points in which every site keeps none. Returns how many.
  Result<int> drop_old_months(double now);
  // Drops this site's matrices of runs before those days, and content to which nothing refers.
  Status drop_old_content(double now);
  // Drops some of the changes that standbys had a day to take. True: there may be more.
  Result<bool> drop_old_changes();

 private:
  SiteLink(std::unique_ptr<pq::Connection> database, SiteClaim claim)
      : database_(std::move(database)), claim_(std::move(claim)) {}
  // Takes the site's row for this session, in one transaction.
  Status claim_site();
  Status insert_site();
  // Whether this database is the one that the archive has a copy of, and not behind it.
  Status check_start(std::string_view start, std::int64_t mark, std::int64_t generation) const;
  Status check_names();
  // Everything is to be copied anew.
  Status begin_walks();
  // The next walk is of runs alone.
  Status walk_runs_again();
  Status read_walks();
  // Moves the mark and merges the rows, both or neither.
  Status commit(const store::MirrorBatch& batch, const std::string& mark, const std::string& first,
                double now);
  // Copies the rows into their staging tables and collects the merges.
  Status carry(const store::MirrorBatch& batch, std::string& merges);
  Status carry_blobs(const store::MirrorBatch& batch, double now);
  // In one transaction.
  Status send_blobs(const std::vector<BlobPart>& parts);
  // Notes for standbys what changed, and how far the agents' spools are.
  Status carry_changes(const store::MirrorBatch& batch, std::string& merges);
  // The last statement of each transaction.
  [[nodiscard]] std::string commit_sql() const;
  // Makes the partitions of the points' months.
  Status make_months(const store::MirrorRows& points, double now);
  Status make_month(int month);
  // Where points of it came before it was near enough.
  Status make_month_from_others(int month);
  // Makes the staging table of this session.
  Status stage(std::size_t table);

  std::unique_ptr<pq::Connection> database_;
  SiteClaim claim_;
  SitePlace place_;
  std::int64_t site_ = 0;
  std::int64_t generation_ = 0;
  std::set<int> months_{};          // that have a partition, as year * 12 + month
  std::set<int> refused_months_{};  // of them, those that have none: tried again each hour
  std::set<std::size_t> staged_{};  // tables with a staging table in this session
  std::map<std::int64_t, std::int64_t> spool_marks_{};  // by node, as they were sent
  std::set<std::string> blobs_{};  // digests that the archive has, the last ones asked for
  double blobs_since_ = 0;         // from when they are
};

}  // namespace railgauge::mirror
