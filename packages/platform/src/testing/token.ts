/** The token that every service under test accepts. */
export const TOKEN = 'correct-horse-battery-staple';
