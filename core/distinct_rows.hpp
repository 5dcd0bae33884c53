// A binary table as distinct rows with class weights, and its columns grouped into chains of nested columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fcca {

struct DistinctRows {
  std::size_t n_columns = 0, n_words = 0, n_classes = 0;
  std::vector<std::uint64_t> bits;  // rows × n_words, sorted, so that the order of the table's rows does not matter
  std::vector<double> weight;       // rows × n_classes
  std::vector<double> count;        // by row: number of rows of the table that it stands for

  std::size_t n_rows() const { return n_words ? bits.size() / n_words : weight.size() / n_classes; }
  bool has(std::size_t row, std::size_t column) const { return bits[row * n_words + column / 64] >> (column % 64) & 1; }
};

// table: n_rows × n_columns bytes, 0 or 1. label: null if weight is n_rows × n_classes, the weight of each class in a row. count:
// number of rows that each row stands for; null: one.
DistinctRows distinct_rows(const std::uint8_t* table, const std::int32_t* label, const double* weight, const std::int64_t* count,
                           std::size_t n_rows, std::size_t n_columns, std::size_t n_classes);

// Every column is in exactly one chain, and its rows are a subset of the rows of the column before it. Columns that all or no rows have
// are left out. The chains are built greedily: a column joins the chain whose last column contains it most tightly.
std::vector<std::vector<std::int32_t>> nested_chains(const DistinctRows& rows);

}  // namespace fcca
