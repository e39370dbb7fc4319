// An archive service with fixed answers, for tests.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "controller/api/archive.pb.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace railgauge::cli {

class FakeArchive {
 public:
  static std::unique_ptr<FakeArchive> create();
  virtual ~FakeArchive() = default;
  FakeArchive(const FakeArchive&) = delete;
  FakeArchive& operator=(const FakeArchive&) = delete;

  railgauge::api::ResultList results;
  railgauge::api::SeriesList series;
  railgauge::api::History history;
  railgauge::api::Comparison comparison;
  railgauge::api::SqlTable table;
  railgauge::api::Space space;
  railgauge::api::DatabaseCheck check;
  railgauge::api::PairMatrix matrix;
  railgauge::api::SuspectList suspects;
  railgauge::api::EventList events;
  railgauge::api::EventList later_events;  // for the first who asks for those after one
  railgauge::api::TaskGroups groups;
  railgauge::api::RunDetail detail;      // a page of one task each
  std::function<void()> on_bundle_part;  // may be empty
  std::atomic<int> matrices_asked = 0;

  [[nodiscard]] railgauge::api::PointsRequest last_points() const;
  [[nodiscard]] railgauge::api::EventsRequest last_events() const;

  // For a grpc::ServerBuilder; lives as long as this object.
  virtual grpc::Service& service() = 0;

 protected:
  FakeArchive();  // filled with the sample answers

  mutable std::mutex mutex_;
  railgauge::api::PointsRequest last_points_;
  railgauge::api::EventsRequest last_events_;
};

}  // namespace railgauge::cli
