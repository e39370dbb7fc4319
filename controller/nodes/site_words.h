// The labels and groups of the site profile: read from its files, kept by the store, read anew when
// a file or the nodes change. One worker at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "controller/plan/topology/site.h"
#include "controller/store/nodes/node_words.h"
#include "controller/store/store.h"

namespace railgauge {

// The labels that the profile's files give these nodes, and its groups. A topology from another
// source than labels gives `leaf` and `pod`; the file of labels comes first. `skipped` gets what
// cannot be a label. kInvalidArgument: a file cannot be read.
Result<store::NodeWords> words_of(const plan::Site& site,
                                  const std::vector<plan::TopologyNode>& nodes,
                                  std::vector<std::string>& skipped);

class SiteWords {
 public:
  // The store outlives it.
  SiteWords(store::Store& store, plan::Site site) : store_(store), site_(std::move(site)) {}

  // Stores what the files say if they or the nodes changed since the last call. A file that cannot
  // be read is a line of the log, and what the store has stays.
  void refresh();

 private:
  [[nodiscard]] Result<std::string> mark() const;
  Status read_files();

  store::Store& store_;
  const plan::Site site_;
  std::string trouble_{};  // of the last reading, logged once
  std::string seen_{};     // marks of the files and nodes of the last call
};

}  // namespace railgauge
