// Runs as they change, for pages that follow them. A follower gets whole states, so that one that
// it missed is no loss: after a broken connection it begins with the present one. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controller/console/reader.h"
#include "kernels/core/base/result.h"

namespace railgauge::console {

// One watch of the control service serves all followers of a run; the list of the newest runs is
// read once for all.
class RunFeed {
 public:
  static constexpr std::size_t kMostFollowers = 24;
  // A browser has 6 connections to a host; others have to be left for requests.
  static constexpr std::size_t kMostOfOnePerson = 4;
  static constexpr std::size_t kMostRuns = 6;    // watched at a time
  static constexpr double kFirstSeconds = 5;     // to wait for the first state
  static constexpr double kWaitSeconds = 1;      // of Follower::next()
  static constexpr double kPauseSeconds = 0.25;  // between two states; the newest one counts
  static constexpr double kBeatSeconds = 10;     // between two signs of life
  static constexpr double kListSeconds = 1;      // the list of runs is read again after these
  static constexpr std::uint32_t kListedRuns = 20;

  // `name` is the one by which the services know the watches; `reader` reads the list. `marked`
  // adds the mark of synthetic data to a JSON object; any thread calls it.
  RunFeed(Reader::Connect connect, Reader& reader, std::string name,
          std::function<std::string(std::string)> marked);
  ~RunFeed();  // waits until its watches have ended
  RunFeed(const RunFeed&) = delete;
  RunFeed& operator=(const RunFeed&) = delete;

  struct State;  // in run_feed.cc
  struct Topic;
  class Watch;

  // Ends its place when it is destroyed. Used by one thread.
  class Follower {
   public:
    Follower(RunFeed& feed, std::shared_ptr<State> state, std::shared_ptr<Topic> topic,
             std::string person);
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;
    // The next part of a stream of server-sent events: `state` with a RunEvent, or a RunList; `end`
    // once the run's last state was sent. "": nothing came within kWaitSeconds. Absent: the stream
    // is over.
    std::optional<std::string> next();

   private:
    RunFeed& feed_;
    const std::shared_ptr<State> state_;
    const std::shared_ptr<Topic> topic_;
    const std::string person_;
    std::uint64_t seen_ = 0;
    double sent_ns_ = 0;
    bool has_begun_ = false;
    bool has_ended_ = false;
  };

  // Follows a run, or with "" the newest runs. `person` is counted. Errors: the service's;
  // kResourceExhausted: there are too many followers or runs; kUnavailable: stop() was called.
  Result<std::unique_ptr<Follower>> follow(const std::string& person, const std::string& run_id);
  // Ends all followers and watches, and refuses later ones.
  void stop();

 private:
  void refresh_list(Topic& topic);

  const Reader::Connect connect_;
  Reader& reader_;
  const std::string name_;
  const std::function<std::string(std::string)> marked_;
  const std::shared_ptr<State> state_;
};

}  // namespace railgauge::console
