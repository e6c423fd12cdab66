import { defineErrors } from 'durable-rest';

export const SaleErrors = defineErrors({
  NOT_YOUR_SALE: {
    error: 403921,
    message: 'The sale was recorded by another client',
    advice: 'Ask that client to remove it.',
  },
  SALE_NOT_FOUND: {
    error: 404921,
    message: 'There is no sale with this id',
    advice: 'After the retry of a DELETE, take this as success.',
  },
  TOO_MANY: {
    error: 409921,
    message: 'The sale has more plants than SALES_MAX_QUANTITY',
    advice: 'Record several sales, or ask the operator for a higher limit.',
  },
  MAY_BE_SOLD: {
    error: 503921,
    message: 'The store is unavailable. The sale may have been recorded',
    advice: 'Look for the sale before you send it again.',
  },
});
