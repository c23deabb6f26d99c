// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/paper_data.h"

namespace sgprs::model {
namespace {

// facts/papers.md 1.9; N = 20 .. 30. Largest reading error 0.7 FPS, 1 % (naive at N = 21: 2 %).
constexpr PaperCurve kCurves[] = {
    {"naive",
     2,
     0,
     {600, 541.8, 495, 476.1, 475.2, 472.5, 475.8, 469.8, 470.4, 478.5, 468},
     {0, 72, 93, 93, 93, 94, 95, 95, 95, 96, 96},
     20},
    {"sgprs",
     2,
     1.0,
     {600, 630, 660, 676.2, 669.6, 675, 686.4, 688.5, 680.4, 678.6, 684},
     {0, 0, 0, 23, 53, 71, 74, 82, 85, 86, 89},
     22},
    {"sgprs",
     2,
     1.5,
     {600, 630, 660, 690, 691.2, 705, 702, 704.7, 697.2, 696, 693},
     {0, 0, 0, 0, 41, 52, 70, 77, 82, 83, 85},
     23},
    {"sgprs",
     2,
     2.0,
     {600, 630, 660, 690, 698.4, 705, 702, 712.8, 714, 713.4, 720},
     {0, 0, 0, 0, 20, 51, 70, 73, 80, 82, 84},
     23},
    {"naive",
     3,
     0,
     {600, 529.2, 481.8, 476.1, 468, 480, 475.8, 461.7, 470.4, 461.1, 459},
     {0, 93, 94, 94, 95, 95, 95, 95, 95, 96, 96},
     20},
    {"sgprs",
     3,
     1.0,
     {600, 630, 660, 690, 698.4, 697.5, 702, 696.6, 714, 704.7, 711},
     {0, 0, 0, 0, 30, 59, 66, 73, 76, 83, 85},
     23},
    {"sgprs",
     3,
     1.5,
     {600, 630, 660, 690, 720, 735, 741, 737.1, 739.2, 739.5, 738},
     {0, 0, 0, 0, 0, 22, 45, 62, 72, 75, 80},
     24},
    {"sgprs",
     3,
     2.0,
     {600, 630, 660, 690, 712.8, 720, 725.4, 720.9, 730.8, 722.1, 729},
     {0, 0, 0, 0, 8, 34, 47, 67, 73, 79, 84},
     23},
};

// facts/papers.md 2.4: best run of 1 to 13.
constexpr DarisCell kDaris[] = {
    {2, 1, 681},    {2, 1.5, 684}, {2, 2, 695},    {3, 1, 863},  {3, 1.5, 906},  {3, 2, 900},
    {3, 3, 913},    {4, 1, 942},   {4, 1.5, 1013}, {4, 2, 1064}, {4, 4, 1069},   {5, 1, 916},
    {5, 1.5, 1050}, {5, 2, 1105},  {5, 5, 1123},   {6, 1, 811},  {6, 1.5, 1033}, {6, 2, 1075},
    {6, 6, 1158},   {7, 1, 800},   {7, 1.5, 1024}, {7, 2, 1092}, {7, 7, 1149},   {8, 1, 815},
    {8, 1.5, 938},  {8, 2, 1016},  {8, 8, 1125},
};

// facts/papers.md 2.4, 6 contexts of one stream, over-subscription 6.
constexpr DarisAblation kAblations[] = {
    {"full", 1158, 0, 0, 0, 0.6},
    {"no staging", 769, 2, 10, 19, 28},
    {"no last-stage boost", 1151, 0, 0, 0, 0.5},
    {"no delayed boost", 1149, 0, 0, 0, 0.4},
    {"no fixed HP/LP levels", 1148, 0, 3.1, 0.6, 4},
    {"static WCET", 1158, 0, 0, 0.2, 17},
    {"window 10", 1147, 0, 0, 0, 22},
};

}  // namespace

std::span<const PaperCurve> PaperCurves() { return kCurves; }

const PaperCurve* FindPaperCurve(std::string_view policy, uint32_t partitions,
                                 double oversubscription) {
  for (const PaperCurve& curve : kCurves) {
    if (curve.policy != policy || curve.partitions != partitions) continue;
    if (curve.oversubscription == 0 || curve.oversubscription == oversubscription) return &curve;
  }
  return nullptr;
}

std::span<const DarisCell> DarisCells() { return kDaris; }
std::span<const DarisAblation> DarisAblations() { return kAblations; }

}  // namespace sgprs::model
