#include "controller/fleet/batch.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace railgauge::fleet {
namespace {

class Summary {
 public:
  void add(const Record& record) {
    StoredRecords& rank = rank_of(record.key());
    if (record.has_point()) {
      const Point& point = record.point();
      ++rank.points;
      rank.figures.push_back({point.metric(), point.message_bytes(), point.median()});
    }
    if (record.has_final()) rank.final = record.final();
  }
  std::vector<StoredRecords> take() {
    std::vector<StoredRecords> stored;
    stored.reserve(ranks_.size());
    for (auto& [key, rank] : ranks_) stored.push_back(std::move(rank));
    return stored;
  }

 private:
  // Records of one rank come one after the other.
  StoredRecords& rank_of(const RecordKey& key) {
    if (last_ != nullptr && last_->task.attempt() == key.attempt() &&
        last_->task.rank() == key.rank() && last_->task.task_id() == key.task_id() &&
        last_->task.run_id() == key.run_id())
      return *last_;
    last_ = &ranks_[{key.run_id(), key.task_id(), key.attempt(), key.rank()}];
    last_->task.set_run_id(key.run_id());
    last_->task.set_task_id(key.task_id());
    last_->task.set_attempt(key.attempt());
    last_->task.set_rank(key.rank());
    return *last_;
  }

  std::map<std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>, StoredRecords>
      ranks_;
  StoredRecords* last_ = nullptr;  // in ranks_
};

}  // namespace

Batch batch_of(api::RecordBatch message) {
  Batch batch;
  batch.first = UINT64_MAX;
  Summary summary;
  std::vector<Record> records;
  records.reserve(static_cast<std::size_t>(message.records_size()));
  for (api::SpooledRecord& spooled : *message.mutable_records()) {
    summary.add(spooled.record());
    batch.first = std::min<std::uint64_t>(batch.first, spooled.spool_id());
    batch.through = std::max<std::uint64_t>(batch.through, spooled.spool_id());
    records.push_back(std::move(*spooled.mutable_record()));
  }
  batch.stored = summary.take();
  batch.parcel = std::make_shared<const store::Parcel>(store::pack(std::move(records)));
  return batch;
}

}  // namespace railgauge::fleet
